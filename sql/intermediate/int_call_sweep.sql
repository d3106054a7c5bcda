-- Host calls in the order of their starts, with the number of calls open: one row per host call or memory event.
--
-- Calls of a thread are taken by start, longer first, then by their place in the file. A sweep over starts and ends counts
-- the calls that are open at each start; one that ends exactly there is closed. A memory event takes part as a call of
-- no length, which is around nothing. Threads
-- have numbers here, one over all runs. The starts of steps' host markers are points on every thread: the step of a call is the
-- one started last, if it is open.
--
-- @title Sweep over host calls
-- @grain run_id, event_index
-- @order run_id, thread, position
-- @column run_id id Run
-- @column run_number id Number of the run
-- @column thread id Number of the thread, unique over runs
-- @column position id Place in the order of the thread
-- @column event_index id Place of the call in the file
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
-- @column is_operator flag Is it an operator?
-- @column open_count id Calls open at its start
-- @column open_operator_count id Operators open at its start
-- @column step id Step that it started in
with
entry as materialized (
    select run_id, event_index, pid, tid, start_ns, duration_ns as length_ns, call_kind = 'operator' as is_operator
    from staging.stg_host_call
    union all
    select run_id, event_index, pid, tid, time_ns as start_ns, 0 as length_ns, false as is_operator
    from staging.stg_memory_event
),

thread as (
    select run_id, pid, tid, row_number() over (order by run_id, pid, tid)::integer as thread
    from (select distinct run_id, pid, tid from entry)
),

call as materialized (
    select
        run.run_number,
        thread.thread,
        entry.event_index,
        entry.start_ns,
        entry.length_ns,
        entry.is_operator
    from entry
    inner join intermediate.int_run_number as run on entry.run_id = run.run_id
    inner join thread on entry.run_id = thread.run_id and entry.pid = thread.pid and entry.tid = thread.tid
),

marker as (
    select
        run.run_number,
        step.run_id,
        step.step,
        step.start_ns,
        step.end_ns,
        row_number() over (partition by step.run_id order by step.start_ns, step.step) as ordinal
    from intermediate.int_step as step
    inner join intermediate.int_run_number as run on step.run_id = run.run_id
    where step.start_ns is not null
),

point as (
    select *, start_ns as time_ns, 1 as change from call
    union all
    select *, start_ns + length_ns as time_ns, -1 as change from call where length_ns > 0
    union all
    select
        marker.run_number,
        thread.thread,
        null as event_index,
        marker.start_ns,
        0 as length_ns,
        false as is_operator,
        marker.start_ns as time_ns,
        0 as change
    from marker
    inner join thread on marker.run_id = thread.run_id
),

swept as (
    select
        *,
        row_number() over sweep as position,
        sum(case when length_ns > 0 then change else 0 end) over sweep as open_count,
        sum(case when length_ns > 0 and is_operator then change else 0 end) over sweep as open_operator_count,
        sum((change = 0)::integer) over sweep as marker_count
    from point
    window sweep as (
        partition by thread
        order by time_ns, change, length_ns desc, event_index
        rows between unbounded preceding and current row
    )
)

select
    run.run_id,
    swept.run_number,
    swept.thread,
    swept.position,
    swept.event_index,
    swept.start_ns,
    swept.start_ns + swept.length_ns as end_ns,
    swept.is_operator,
    (swept.open_count - (swept.length_ns > 0)::integer)::integer as open_count,
    (swept.open_operator_count - (swept.length_ns > 0 and swept.is_operator)::integer)::integer as open_operator_count,
    case when swept.start_ns < marker.end_ns then marker.step end as step
from swept
inner join intermediate.int_run_number as run on swept.run_number = run.run_number
left join marker on swept.run_number = marker.run_number and swept.marker_count = marker.ordinal
where swept.change = 1
