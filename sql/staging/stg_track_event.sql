-- Events without a category as recorded: one row per complete event that only its track tells the kind of.
--
-- @title Events without a category
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the event belongs to
-- @column event_index id Place of the event in the file
-- @column event_name name Name
-- @column pid id Process
-- @column tid id Thread
-- @column device id Device, where the event tells
-- @column stream id Stream: the number in the thread id
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column bytes bytes Bytes moved
-- @column task_type category Type of a task of the device
-- @column args text Arguments of the event, JSON
select
    run_id,
    event_index,
    coalesce(name, '') as event_name,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    device,
    try_cast(regexp_extract(tid, '(-?[0-9]+)\s*$', 1) as bigint) as stream,
    start_ns,
    duration_ns,
    coalesce(bytes, try_cast(args ->> '$."data size(Byte)"' as bigint)) as bytes,
    args ->> '$."Task Type"' as task_type,
    args
from raw.event
where phase = 'X' and coalesce(category, '') = ''
