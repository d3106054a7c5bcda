-- Runs as ingested: one row per run, which is one rank of one execution.
--
-- @title Runs as ingested
-- @grain run_id
-- @order run_id
-- @column run_id id Name of the run in the warehouse
-- @column label name Label that it was ingested under
-- @column rank id Rank within the execution
-- @column world_size count Ranks of the execution
-- @column device_name name Devices
-- @column base_time_ns timestamp_ns Add it to times of the trace to get Unix time
-- @column event_count count Events in the trace
-- @column source_path text File that it was ingested from
-- @column source_format category Format of that file
-- @column source_bytes bytes Size of that file
-- @column content_hash id Hash of that file
-- @column ingested_at text When it was ingested (UTC)
-- @column tool_version text Version that ingested it
select
    run_id,
    label,
    rank,
    world_size,
    device_name,
    base_time_ns,
    event_count,
    source_path,
    source_format,
    source_bytes,
    content_hash,
    ingested_at,
    tool_version
from raw.run
