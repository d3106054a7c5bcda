-- Groups that the planes of an Ascend device serve: one row per plane, which is a thread of the process of collectives.
--
-- No event names the group. A plane serves the group whose collectives contain its tasks, or at least 95 % of them,
-- since times are rounded. If several groups do, the order of thread numbers decides: the group's own thread is the
-- next one before the plane if the process starts with a group's thread, else the next one after it.
--
-- @title Groups of planes
-- @grain run_id, pid, tid
-- @order run_id, pid, tid
-- @column run_id id Run that the plane belongs to
-- @column pid id Process of the plane
-- @column tid id Thread of the plane
-- @column process_group name Group that it serves
with
event as materialized (
    select run_id, pid, tid, process_group, track, start_ns, end_ns
    from intermediate.int_track_event
    where track in ('collective', 'plane') and end_ns is not null
),

thread as (
    select
        run_id,
        pid,
        tid,
        track,
        process_group,
        row_number() over (partition by run_id, pid order by try_cast(tid as bigint), tid) as place,
        count(*) filter (where track = 'collective') over (partition by run_id, pid) as group_count,
        first_value(track) over (partition by run_id, pid order by try_cast(tid as bigint), tid) = 'collective'
            as is_group_first
    from (select distinct run_id, pid, tid, track, process_group from event)
),

candidate as (
    select
        plane.run_id,
        plane.pid,
        plane.tid,
        own.tid as group_tid,
        own.process_group,
        plane.group_count,
        (plane.place > own.place) = plane.is_group_first as is_in_order,
        abs(plane.place - own.place) as distance
    from thread as plane
    inner join thread as own on plane.run_id = own.run_id and plane.pid = own.pid
    where plane.track = 'plane' and own.track = 'collective'
),

-- A single group needs no such check.
inside as (
    select
        task.run_id,
        task.pid,
        task.tid,
        task.group_tid,
        count(*) as task_count,
        count(*) filter (where task.start_ns < collective.end_ns) as inside_count
    from (
        select candidate.run_id, candidate.pid, candidate.tid, candidate.group_tid, event.start_ns
        from candidate
        inner join event on candidate.run_id = event.run_id and candidate.pid = event.pid and candidate.tid = event.tid
        where candidate.group_count > 1
    ) as task
    asof left join (select * from event where track = 'collective') as collective
        on
            task.run_id = collective.run_id
            and task.pid = collective.pid
            and task.group_tid = collective.tid
            and task.start_ns >= collective.start_ns
    group by task.run_id, task.pid, task.tid, task.group_tid
)

select candidate.run_id, candidate.pid, candidate.tid, candidate.process_group
from candidate
left join inside
    on
        candidate.run_id = inside.run_id
        and candidate.pid = inside.pid
        and candidate.tid = inside.tid
        and candidate.group_tid = inside.group_tid
qualify
    row_number() over (
        partition by candidate.run_id, candidate.pid, candidate.tid
        order by
            least(inside.inside_count / (0.95 * inside.task_count), 1) desc,
            candidate.is_in_order desc,
            candidate.distance
    ) = 1
