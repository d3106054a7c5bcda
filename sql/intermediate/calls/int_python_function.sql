-- Python functions with their callers: one row per call of a function or nn.Module with a usable time.
--
-- The caller is the one that the profiler recorded. Where it numbers no calls (databases of Ascend profilers), the caller is the
-- innermost function of the thread around it: Python's calls are nested, so a function at some depth was called by the last one before it
-- at one less. Such calls are numbered here, below 0; a function that ends where another starts is closed.
--
-- @title Python functions
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the event in the file
-- @column python_id id Number of the call
-- @column python_parent_id id Number of the caller
-- @column function_name name Name as recorded
-- @column module_name name Instance of nn.Module that is called; NULL for any other function
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
with
unnumbered as (select * from staging.stg_python_function where python_id is null),

-- An end counts before a start at the same time; a function without length opens nothing.
edge as (
    select run_id, pid, tid, start_ns as time_ns, 1 as opened, end_ns, event_index
    from unnumbered
    where end_ns > start_ns
    union all by name
    select run_id, pid, tid, end_ns as time_ns, -1 as opened, end_ns, event_index
    from unnumbered
    where end_ns > start_ns
),

deep as (
    select
        run_id,
        pid,
        tid,
        opened,
        event_index,
        sum(opened) over place as tree_depth,
        row_number() over place as place
    from edge
    window place as (
        partition by run_id, pid, tid
        order by time_ns, opened, end_ns desc, event_index
        rows between unbounded preceding and current row
    )
),

-- Each function stands at its own depth, as one that calls, and one less, asking for the last that stands there.
called as (
    select
        run_id,
        event_index,
        is_asking,
        last_value(case when not is_asking then event_index end ignore nulls) over (
            partition by run_id, pid, tid, tree_depth
            order by place
            rows between unbounded preceding and current row
        ) as caller_index
    from (
        select
            run_id, pid, tid, event_index, place,
            unnest([tree_depth, tree_depth - 1]) as tree_depth,
            unnest([false, true]) as is_asking
        from deep
        where opened = 1
    )
)

select * from staging.stg_python_function where python_id is not null
union all by name
select
    call.run_id,
    call.event_index,
    -1 - call.event_index as python_id,
    -1 - called.caller_index as python_parent_id,
    call.function_name,
    call.module_name,
    call.pid,
    call.tid,
    call.start_ns,
    call.end_ns
from unnumbered as call
left join called on call.run_id = called.run_id and call.event_index = called.event_index and called.is_asking
