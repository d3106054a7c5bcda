-- Modules and device work of operators: one row per operator call.
--
-- The module is the innermost one around the operator. Inside backward operators it is the module of the forward
-- operator; of nested ones, the innermost with such a module counts. Else it is the call of the optimizer. Device time
-- counts for the operator that launched it and for all operators around that.
--
-- @title Walk over operators
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @walk operators
-- @column run_id id Run
-- @column event_index id Position of the call in the file
-- @column position id Position in the order of the tree of operators, in the run
-- @column last_position id Position of the last operator nested in it; its own if there is none
-- @column is_outermost flag Is no operator around it?
-- @column module_index id Module call that it is in
-- @column is_module_backward flag Is it part of the backward pass of that call?
-- @column backward_module_index id Module call of the forward operator, for the innermost operator (itself or around it) that has one
-- @column outermost_index id Outermost operator around it within the same module call; an outermost one names itself
-- @column self_activity_count count Device activities that it launched itself, without nested operators
-- @column self_device_duration_ns duration_ns Sum of their durations
-- @column device_activity_count count Device activities launched, with nested operators
-- @column device_duration_ns duration_ns Sum of their durations
with
linked as (
    select link.run_id, link.event_index, forward.module_index
    from intermediate.int_backward_link as link
    inner join
        intermediate.int_call_walk as forward
        on link.run_id = forward.run_id and link.forward_index = forward.event_index
),

device as (
    select
        launch.run_id,
        launch.operator_index,
        count(*) as activity_count,
        sum(activity.duration_ns)::bigint as duration_ns
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_device_activity as activity
        on launch.run_id = activity.run_id and launch.event_index = activity.event_index
    where launch.operator_index is not null and activity.quarantine_reason is null
    group by launch.run_id, launch.operator_index
)

select
    operator.run_id,
    operator.event_index,
    coalesce(operator.parent_operator_index, -1) as parent_operator_index,
    coalesce(operator.module_index, -1) as module_index,
    coalesce(linked.module_index, -1) as linked_module_index,
    coalesce(operator.optimizer_index, -1) as optimizer_index,
    coalesce(device.activity_count, 0) as self_activity_count,
    coalesce(device.duration_ns, 0) as self_device_duration_ns
from intermediate.int_host_call as operator
left join linked on operator.run_id = linked.run_id and operator.event_index = linked.event_index
left join device on operator.run_id = device.run_id and operator.event_index = device.operator_index
where operator.call_kind = 'operator'
order by operator.pid, operator.tid, operator.start_ns, operator.end_ns desc, operator.event_index
