-- Device activities as recorded: one row per kernel, memory copy or memory set.
--
-- The device is `args.device`, else the process id of the track; the stream is `args.stream`, else the number in the
-- thread id. Correlation ids 0 and -1 and external ids 0 and -1 mean none. `end_ns` is NULL where the time is not usable.
--
-- @title Device activities as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the activity belongs to
-- @column event_index id Place of the event in the file
-- @column activity_kind category kernel, memcpy or memset
-- @column activity_name name Name of the kernel or copy
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column correlation id Key of the launch
-- @column external_id id Key of the operator, for activities without a launch
-- @column bytes bytes Bytes copied or set
-- @column pid id Process of the track
-- @column tid id Thread of the track
-- @column args text Arguments of the event, JSON
select
    run_id,
    event_index,
    macros.event_kind(category) as activity_kind,
    coalesce(name, '') as activity_name,
    coalesce(device, try_cast(pid as bigint)) as device,
    coalesce(stream, try_cast(regexp_extract(tid, '(-?[0-9]+)\s*$', 1) as bigint)) as stream,
    start_ns,
    duration_ns,
    case when duration_ns >= 0 then start_ns + duration_ns end as end_ns,
    case when correlation not in (0, -1) then correlation end as correlation,
    case when external_id not in (0, -1) then external_id end as external_id,
    bytes,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    args
from raw.event
where phase = 'X' and macros.event_kind(category) in ('kernel', 'memcpy', 'memset')
