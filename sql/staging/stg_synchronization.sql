-- Waits on device tracks, as recorded: one row per wait for a stream or event (cuda_sync, xpu_sync). Waits are not
-- device activities.
--
-- @title Synchronisation as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the record belongs to
-- @column event_index id Position of the event in the file
-- @column synchronization_name name Kind of wait
-- @column device id Device
-- @column stream id Stream; −1 for all streams of a context
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
select
    event.run_id,
    event.event_index,
    event.event_name as synchronization_name,
    coalesce(macros.told_device(event.device, event.args), track.device) as device,
    macros.told_stream(event.stream, event.args) as stream,
    event.start_ns,
    event.duration_ns
from staging.stg_event as event
left join staging.stg_track as track
    on event.run_id = track.run_id and event.pid = track.pid and event.tid = track.tid
where event.event_kind = 'synchronization' and event.start_ns is not null and event.duration_ns >= 0
