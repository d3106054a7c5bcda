-- Operator calls with their module and what they launched: one row per operator call.
--
-- @title Operator calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the call in the file
-- @column operator_name name Name
-- @column parent_operator_index id Innermost operator around it
-- @column outermost_index id Outermost operator around it within the same module call; an outermost one names itself
-- @column module_index id Module call that it is in
-- @column is_module_backward flag Is it part of the backward pass of that call?
-- @column is_backward flag Does its name or its forward thread mark it as an operator of the backward pass?
-- @column step id Step that it started in
-- @column start_ns timestamp_ns Start
-- @column input_shapes text Shapes of the inputs, JSON
-- @column top_operator_index id Outermost operator around it; an outermost one names itself
-- @column self_activity_count count Device activities that it launched itself, without nested operators
-- @column self_device_duration_ns duration_ns Sum of their durations
-- @column device_activity_count count Device activities launched, with nested operators
-- @column device_duration_ns duration_ns Sum of their durations
select
    call.run_id,
    call.event_index,
    call.call_name as operator_name,
    call.parent_operator_index,
    walk.outermost_index,
    walk.module_index,
    walk.is_module_backward,
    macros.is_backward_name(call.call_name) or coalesce(call.forward_thread > 0, false) as is_backward,
    call.step,
    call.start_ns,
    call.input_shapes,
    call.top_operator_index,
    walk.self_activity_count,
    walk.self_device_duration_ns,
    walk.device_activity_count,
    walk.device_duration_ns
from intermediate.int_host_call as call
inner join intermediate.int_operator_walk as walk on call.run_id = walk.run_id and call.event_index = walk.event_index
