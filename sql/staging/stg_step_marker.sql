-- Step markers as recorded: one row per ProfilerStep#N event, on the host or copied to a device track, and per task of
-- an Ascend device that the profiler assigned to a step.
--
-- @title Step markers as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the marker belongs to
-- @column event_index id Position of the event in the file
-- @column step id Number of the step
-- @column on_device flag Is it the copy on a device track (gpu_user_annotation), or a task?
-- @column device id Device of the copy or task
-- @column stream id Stream of the copy
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
select
    marker.run_id,
    marker.event_index,
    try_cast(regexp_extract(marker.event_name, '[0-9]+$') as bigint) as step,
    marker.event_kind = 'device annotation' as on_device,
    case
        when
            marker.event_kind = 'device annotation'
            then coalesce(macros.told_device(marker.device, marker.args), track.device)
    end as device,
    case
        when
            marker.event_kind = 'device annotation'
            then coalesce(macros.told_stream(marker.stream, marker.args), track.stream)
    end as stream,
    marker.start_ns,
    marker.duration_ns
from staging.stg_event as marker
left join staging.stg_track as track
    on marker.run_id = track.run_id and marker.pid = track.pid and marker.tid = track.tid
where
    marker.event_kind in ('device annotation', 'annotation', 'operator')
    and marker.start_ns is not null
    and marker.duration_ns >= 0
    and macros.is_step_marker(marker.event_name)
union all by name
select run_id, event_index, step, true as on_device, device, null as stream, start_ns, duration_ns
from raw.kernel_detail
where step is not null and start_ns is not null and duration_ns >= 0
