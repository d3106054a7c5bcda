-- Tasks of collectives on the planes of an Ascend device: one row per task.
--
-- A task belongs to the collective of its group that is running at its start. A wait (Notify_Wait) is a transfer if it
-- is part of an RDMA exchange. It is, if the tasks before it on the plane are RDMASend, RDMASend, or RDMASend,
-- RDMASend, Notify_Wait, RDMASend.
--
-- @title Tasks of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the task in the file
-- @column collective_index id The collective; NULL if none of its group is running
-- @column collective_name name Name of the collective
-- @column step id Step of the collective
-- @column device id Device
-- @column process_group name Group, named as the collective's
-- @column plane id Plane
-- @column task_name name What the task does: Notify_Wait, Memcpy, …
-- @column is_wait flag Does it wait, and not as part of an RDMA exchange?
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column bytes bytes Bytes moved
with
task as (
    select
        event.* replace (serving.process_group as process_group),
        lag(event_name, 1) over plane as before_1,
        lag(event_name, 2) over plane as before_2,
        lag(event_name, 3) over plane as before_3,
        lag(event_name, 4) over plane as before_4
    from intermediate.int_track_event as event
    left join intermediate.int_plane_group as serving
        on event.run_id = serving.run_id and event.pid = serving.pid and event.tid = serving.tid
    where event.track = 'plane' and event.end_ns is not null
    window plane as (partition by event.run_id, event.pid, event.tid order by event.start_ns, event.event_index)
),

-- A task has the group of its track, so a collective needs that too, besides its group's name in the job.
collective as (
    select collective.*, track.process_group as track_group, track.pid
    from intermediate.int_collective as collective
    inner join intermediate.int_track_event as track
        on collective.run_id = track.run_id and collective.event_index = track.event_index
)

select
    task.run_id,
    task.event_index,
    case when task.start_ns < collective.end_ns then collective.event_index end as collective_index,
    case when task.start_ns < collective.end_ns then collective.collective_name end as collective_name,
    case when task.start_ns < collective.end_ns then collective.step end as step,
    coalesce(collective.device, task.device) as device,
    coalesce(collective.process_group, task.process_group) as process_group,
    task.stream as plane,
    task.event_name as task_name,
    coalesce(
        replace(task.event_name, ' ', '_') = 'Notify_Wait'
        and not (task.before_1 = 'RDMASend' and task.before_2 = 'RDMASend')
        and not (
            task.before_1 = 'RDMASend'
            and replace(task.before_2, ' ', '_') = 'Notify_Wait'
            and task.before_3 = 'RDMASend'
            and task.before_4 = 'RDMASend'
        ),
        replace(task.event_name, ' ', '_') = 'Notify_Wait'
    ) as is_wait,
    task.start_ns,
    task.duration_ns,
    task.end_ns,
    coalesce(task.bytes, try_cast(task.args ->> '$."size(Byte)"' as bigint)) as bytes
from task
asof left join collective
    on
        task.run_id = collective.run_id
        and task.pid = collective.pid
        and task.process_group = collective.track_group
        and task.start_ns >= collective.start_ns
