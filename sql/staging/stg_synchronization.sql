-- Synchronisation records of device tracks: one row per cuda_sync event. They are waits, not device activities.
--
-- @title Synchronisation as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the record belongs to
-- @column event_index id Place of the event in the file
-- @column synchronization_name name What was waited for
-- @column device id Device
-- @column stream id Stream, -1 for all of a context
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
select
    run_id,
    event_index,
    coalesce(name, '') as synchronization_name,
    coalesce(device, try_cast(pid as bigint)) as device,
    stream,
    start_ns,
    duration_ns
from raw.event
where phase = 'X' and lower(category) = 'cuda_sync' and start_ns is not null and duration_ns >= 0
