-- Device activities as recorded: one row per kernel, memory copy or memory set.
--
-- The device is `args.device`, a number or a text that contains one (`cuda:0`), else the track's. The stream is found
-- in the same way. Correlation ids and external ids of 0 and −1 mean none. `end_ns` is NULL if the time is not usable.
--
-- @title Device activities as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the event in the file
-- @column activity_kind category kernel, memcpy or memset
-- @column activity_name name Name of the kernel or copy
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column correlation id Correlation id, shared with the launch
-- @column external_id id External id of the operator, for activities without a launch
-- @column bytes bytes Bytes copied or set
-- @column pid id Process of the track
-- @column tid id Thread of the track
-- @column args text Arguments of the event, JSON
select
    event.run_id,
    event.event_index,
    case when event.event_kind = 'activity' then macros.activity_kind(event.event_name) else event.event_kind end
        as activity_kind,
    event.event_name as activity_name,
    coalesce(macros.told_device(event.device, event.args), track.device) as device,
    coalesce(macros.told_stream(event.stream, event.args), track.stream) as stream,
    event.start_ns,
    event.duration_ns,
    case when event.duration_ns >= 0 then event.start_ns + event.duration_ns end as end_ns,
    case when event.correlation not in (0, -1) then event.correlation end as correlation,
    case when event.external_id not in (0, -1) then event.external_id end as external_id,
    event.bytes,
    event.pid,
    event.tid,
    event.args
from staging.stg_event as event
left join staging.stg_track as track
    on event.run_id = track.run_id and event.pid = track.pid and event.tid = track.tid
where event.event_kind in ('kernel', 'memcpy', 'memset', 'activity')
