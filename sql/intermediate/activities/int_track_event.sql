-- Events on the tracks of an Ascend profile, by kind of track: one row per event.
--
-- The name of its process identifies a track, never the process number (`seeds.track`). Ascend Hardware has the tasks
-- of a stream; HCCL or Communication the collectives of a group and the tasks on its planes; Overlap Analysis the
-- profiler's own analysis; CANN the calls of CANN.
--
-- @title Events on Ascend tracks
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the event in the file
-- @column track category task, collective, plane, overlap or cann
-- @column process_group name Group of a collective; `int_plane_group` has that of a plane
-- @column thread_name name Name of the thread
-- @column event_name name Name
-- @column pid id Process
-- @column tid id Thread
-- @column device id Device that the event names, else that of its process
-- @column stream id Stream: the number in the thread id
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column bytes bytes Bytes moved
-- @column task_type category Type of a task of the device
-- @column args text Arguments of the event, JSON
with
thread as (
    select run_id, pid, tid, any_value(track_name) as thread_name
    from staging.stg_track_name
    where not is_process
    group by run_id, pid, tid
)

select
    event.run_id,
    event.event_index,
    event.event_kind as track,
    case
        when event.event_kind = 'collective'
            then coalesce(
                nullif(regexp_extract(thread.thread_name, '^Group (.*?) (?:Aicpu )?Communication$', 1), ''),
                thread.thread_name
            )
    end as process_group,
    thread.thread_name,
    event.event_name,
    event.pid,
    event.tid,
    coalesce(event.device, track.device) as device,
    macros.last_number(event.tid) as stream,
    event.start_ns,
    event.duration_ns,
    case when event.duration_ns >= 0 then event.start_ns + event.duration_ns end as end_ns,
    coalesce(event.bytes, try_cast(event.args ->> '$."data size(Byte)"' as bigint)) as bytes,
    event.args ->> '$."Task Type"' as task_type,
    event.args
from staging.stg_event as event
left join thread on event.run_id = thread.run_id and event.pid = thread.pid and event.tid = thread.tid
left join intermediate.int_track_device as track
    on
        event.run_id = track.run_id
        and event.pid = track.pid
        and track.process_kind = case event.event_kind when 'plane' then 'collective' else event.event_kind end
where event.event_kind in ('task', 'collective', 'plane', 'overlap', 'cann')
