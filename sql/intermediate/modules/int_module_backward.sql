-- Backward operators of modules: one row per operator whose forward operator was in a module.
--
-- @title Backward operators of modules
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Place of the backward operator in the file
-- @column module_index id Module call that the forward operator was in
-- @column outer_module_index id The same, of the innermost such operator around it
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
with recursive
linked as materialized (
    select
        run.run_number,
        operator.run_id,
        operator.event_index,
        operator.parent_operator_index,
        operator.pid,
        operator.tid,
        operator.start_ns,
        operator.end_ns,
        forward.module_index
    from intermediate.int_backward_link as link
    asof inner join intermediate.int_module_forward as forward
        on
            link.run_id = forward.run_id
            and link.forward_pid = forward.pid
            and link.forward_tid = forward.tid
            and link.forward_start_ns >= forward.start_ns
    inner join intermediate.int_host_call as operator
        on link.run_id = operator.run_id and link.event_index = operator.event_index
    inner join intermediate.int_run_number as run on operator.run_id = run.run_id
    where forward.module_index is not null
),

nested as materialized (select * exclude (run_id) from intermediate.int_nested_operator),

enclosed as (
    select run_number, event_index, parent_operator_index as cursor_index, null::bigint as outer_module_index
    from linked
    union all
    select
        enclosed.run_number,
        enclosed.event_index,
        case when around.module_index is null then nested.parent_operator_index end as cursor_index,
        around.module_index as outer_module_index
    from enclosed
    left join nested
        on enclosed.run_number = nested.run_number and enclosed.cursor_index = nested.event_index
    left join linked as around
        on enclosed.run_number = around.run_number and enclosed.cursor_index = around.event_index
    where enclosed.cursor_index is not null
)

select
    linked.run_id,
    linked.event_index,
    linked.module_index,
    enclosed.outer_module_index,
    linked.pid,
    linked.tid,
    linked.start_ns,
    linked.end_ns
from enclosed
inner join linked
    on enclosed.run_number = linked.run_number and enclosed.event_index = linked.event_index
where enclosed.cursor_index is null
