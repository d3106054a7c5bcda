-- Which module a thread is in, over time: one row per place where that changes, valid until the next of the thread.
--
-- The module is the innermost one around; else, inside a backward operator, the module of the innermost one whose forward operator
-- was in a module; else the call of the optimizer. Calls that end where another starts are closed. A call without length
-- is around nothing.
--
-- @title Timelines of modules
-- @grain run_id, pid, tid, start_ns
-- @order run_id, pid, tid, start_ns
-- @materialized
-- @column run_id id Run
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns From here on
-- @column module_index id Module call, of the forward pass also where it is the backward pass; NULL outside
-- @column is_backward flag Is it the backward pass of that call?
with
backward as (
    select run_id, pid, tid, start_ns, max_by({'module_index': module_index}, place).module_index as module_index
    from (
        select
            run_id,
            pid,
            tid,
            unnest([start_ns, end_ns]) as start_ns,
            unnest([module_index, outer_module_index]) as module_index,
            unnest([event_index, -1 - event_index]) as place
        from intermediate.int_module_backward
        where end_ns > start_ns
    )
    group by run_id, pid, tid, start_ns
),

optimizer as (
    select run_id, pid, tid, start_ns, max(module_index) as module_index
    from (
        select run_id, pid, tid, unnest([start_ns, end_ns]) as start_ns, unnest([event_index, null]) as module_index
        from intermediate.int_module_call
        where is_optimizer and end_ns > start_ns
    )
    group by run_id, pid, tid, start_ns
),

moment as (
    select run_id, pid, tid, start_ns from intermediate.int_module_forward
    union
    select run_id, pid, tid, start_ns from backward
    union
    select run_id, pid, tid, start_ns from optimizer
)

select
    moment.run_id,
    moment.pid,
    moment.tid,
    moment.start_ns,
    coalesce(forward.module_index, backward.module_index, optimizer.module_index) as module_index,
    forward.module_index is null and backward.module_index is not null as is_backward
from moment
asof left join intermediate.int_module_forward as forward
    on
        moment.run_id = forward.run_id
        and moment.pid = forward.pid
        and moment.tid = forward.tid
        and moment.start_ns >= forward.start_ns
asof left join backward
    on
        moment.run_id = backward.run_id
        and moment.pid = backward.pid
        and moment.tid = backward.tid
        and moment.start_ns >= backward.start_ns
asof left join optimizer
    on
        moment.run_id = optimizer.run_id
        and moment.pid = optimizer.pid
        and moment.tid = optimizer.tid
        and moment.start_ns >= optimizer.start_ns
