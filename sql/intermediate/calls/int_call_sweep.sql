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
-- @column position id Place in the order of the thread, unique over threads
-- @column event_index id Place of the call in the file
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
-- @column is_operator flag Is it an operator?
-- @column open_count id Calls open at its start
-- @column open_operator_count id Operators open at its start
-- @column top_operator_index id Outermost operator open at its start: itself, for an operator without one
-- @column step id Step that it started in
with
-- Read twice: kept between the two it would fill the memory before the sort begins.
entry as not materialized (
    select run_id, event_index, pid, tid, start_ns, duration_ns as length_ns, call_kind = 'operator' as is_operator
    from staging.stg_host_call
    union all by name
    select run_id, event_index, pid, tid, time_ns as start_ns, 0 as length_ns, false as is_operator
    from staging.stg_memory_event
),

thread as materialized (
    select
        thread.*,
        run.run_number,
        row_number() over (order by thread.run_id, thread.pid, thread.tid)::integer as thread
    from (select distinct run_id, pid, tid from entry) as thread
    inner join intermediate.int_run_number as run on thread.run_id = run.run_id
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
    select
        thread.run_number,
        thread.thread,
        entry.event_index,
        entry.start_ns,
        entry.length_ns,
        entry.is_operator,
        case when bound.change > 0 then entry.start_ns else entry.start_ns + entry.length_ns end as time_ns,
        bound.change
    from entry
    inner join thread on entry.run_id = thread.run_id and entry.pid = thread.pid and entry.tid = thread.tid
    inner join (values (1), (-1)) as bound (change) on bound.change > 0 or entry.length_ns > 0
    union all by name
    select
        marker.run_number,
        thread.thread,
        marker.ordinal as event_index,
        marker.start_ns,
        0 as length_ns,
        false as is_operator,
        marker.start_ns as time_ns,
        0 as change
    from marker
    inner join thread on marker.run_id = thread.run_id
),

-- Windows without an order go along the sorted rows, in their order (DuckDB's documentation, "Order Preservation"), which takes half
-- of what sorting within a window does, and no memory. They go from thread to thread: at the end of one, nothing is open.
swept as (
    select
        *,
        row_number() over () as position,
        sum(case when length_ns > 0 then change else 0 end) over so_far as open_count,
        sum(case when length_ns > 0 and is_operator then change else 0 end) over so_far as open_operator_count,
        last_value(case when change = 0 then event_index end ignore nulls) over so_far as marker_ordinal
    from (select * from point order by thread, time_ns, change, length_ns desc, event_index)
    window so_far as (rows between unbounded preceding and current row)
),

counted as (
    select
        * replace (
            open_count - (length_ns > 0)::integer as open_count,
            open_operator_count - (length_ns > 0 and is_operator)::integer as open_operator_count
        ),
        last_value(
            case when change = 1 and is_operator and open_operator_count = (length_ns > 0)::integer then event_index end ignore nulls
        ) over (rows between unbounded preceding and current row) as last_top_index
    from swept
    qualify change = 1
)

select
    run.run_id,
    counted.run_number,
    counted.thread,
    counted.position,
    counted.event_index,
    counted.start_ns,
    counted.start_ns + counted.length_ns as end_ns,
    counted.is_operator,
    counted.open_count::integer as open_count,
    counted.open_operator_count::integer as open_operator_count,
    case when counted.is_operator or counted.open_operator_count > 0 then counted.last_top_index end as top_operator_index,
    marker.step
from counted
inner join intermediate.int_run_number as run on counted.run_number = run.run_number
left join marker
    on
        counted.run_number = marker.run_number
        and counted.marker_ordinal = marker.ordinal
        and counted.start_ns >= marker.start_ns  -- it may be the last of the thread before
        and counted.start_ns < marker.end_ns
