-- Module calls and their operators, as a tree: one row per module call and pass, and one row per operator in it that
-- launched device work.
--
-- The forward pass of a call is a node, and so is its backward pass if it launched something. Device time without an
-- operator has one node per call and name. Work outside any module is at the root.
--
-- @title Tree of module calls
-- @grain run_id, node
-- @order run_id, node
-- @materialized
-- @column run_id id Run
-- @column node id Number of the node
-- @column module_index id Module call; NULL outside any module
-- @column is_backward flag Is it part of the backward pass of that call?
-- @column is_operator flag Is it an operator in the call, rather than the call itself?
-- @column parent_module_index id Module call that the node is in
-- @column step id Step
-- @column start_ns timestamp_ns Start of the call; for an operator, of its first launch
-- @column operator_index id Operator call: position in the file
-- @column operator_name name Operator; `[ TOTAL ]` for the call itself
-- @column device_activity_count count Device activities launched, without nested modules
-- @column device_self_duration_ns duration_ns Sum of their durations
-- @column device_total_duration_ns duration_ns Sum of durations, with nested modules
with recursive
operator as materialized (
    select
        run_id, module_index, is_backward, operator_index, operator_name, step,
        min(launch_start_ns) as start_ns,
        count(*) as device_activity_count,
        sum(duration_ns)::bigint as duration_ns
    from intermediate.int_module_operator
    group by run_id, module_index, is_backward, operator_index, operator_name, step
),

called as materialized (
    select
        call.run_id,
        call.event_index as module_index,
        pass.is_backward,
        module.module_level,
        call.parent_module_index,
        coalesce(sum(operator.device_activity_count), 0)::bigint as device_activity_count,
        coalesce(sum(operator.duration_ns), 0)::bigint as device_self_duration_ns
    from intermediate.int_module_call as call
    inner join intermediate.int_module as module on call.run_id = module.run_id and call.module = module.module
    cross join (values (false), (true)) as pass (is_backward)
    left join operator
        on
            call.run_id = operator.run_id
            and call.event_index = operator.module_index
            and pass.is_backward = operator.is_backward
    where not pass.is_backward or operator.module_index is not null
    group by call.run_id, call.event_index, pass.is_backward, module.module_level, call.parent_module_index
),

-- From the deepest level up, so that each call adds to its parent once.
timed as (
    select *, device_self_duration_ns as device_total_duration_ns
    from called
    where (run_id, module_level) in (select (run_id, max(module_level)) from called group by run_id)
    union all
    select
        run_id,
        module_index,
        is_backward,
        module_level,
        any_value(parent_module_index) as parent_module_index,
        coalesce(sum(device_activity_count), 0)::bigint as device_activity_count,
        coalesce(sum(device_self_duration_ns), 0)::bigint as device_self_duration_ns,
        sum(device_total_duration_ns)::bigint as device_total_duration_ns
    from (
        select
            inside.run_id,
            inside.parent_module_index as module_index,
            inside.is_backward,
            inside.module_level - 1 as module_level,
            call.parent_module_index,
            inside.device_total_duration_ns
        from timed as inside
        inner join intermediate.int_module_call as call
            on inside.run_id = call.run_id and inside.parent_module_index = call.event_index
        union all by name
        select called.*, called.device_self_duration_ns as device_total_duration_ns
        from called
        inner join (select run_id, any_value(module_level) as module_level from timed group by run_id) as below
            on called.run_id = below.run_id and called.module_level = below.module_level - 1
    )
    group by run_id, module_index, is_backward, module_level
),

node as (
    select
        timed.run_id,
        timed.module_index,
        timed.is_backward,
        false as is_operator,
        timed.parent_module_index,
        call.step,
        call.start_ns,
        null::bigint as operator_index,
        '[ TOTAL ]' as operator_name,
        timed.device_activity_count,
        timed.device_self_duration_ns,
        timed.device_total_duration_ns
    from timed
    inner join intermediate.int_module_call as call
        on timed.run_id = call.run_id and timed.module_index = call.event_index
    union all by name
    select
        run_id,
        module_index,
        is_backward,
        true as is_operator,
        module_index as parent_module_index,
        step,
        start_ns,
        operator_index,
        operator_name,
        device_activity_count,
        duration_ns as device_self_duration_ns,
        duration_ns as device_total_duration_ns
    from operator
    semi join intermediate.int_module_call as any_call on operator.run_id = any_call.run_id
)

select
    node.run_id,
    row_number() over (
        partition by node.run_id
        order by
            node.is_backward, node.start_ns, node.module_index,
            node.is_operator, node.operator_index, node.operator_name, node.step
    ) as node,
    node.* exclude (run_id)
from node
