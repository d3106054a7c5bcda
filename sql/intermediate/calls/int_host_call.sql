-- Host calls as a tree, with self time and step: one row per host call.
--
-- Self time is the duration less the part that direct children cover. Children of one call never overlap: the later one
-- would be a child of the earlier one.
--
-- @title Host calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Position of the call in the file
-- @column call_kind category operator, annotation or runtime; launch or enqueue on Ascend devices
-- @column call_name name Name of the call
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column self_duration_ns duration_ns Duration not covered by direct children
-- @column correlation id Correlation id of what a runtime call launched or an operator enqueued
-- @column external_id id External id
-- @column sequence_number id Autograd sequence number
-- @column forward_thread id Thread of the forward operator, on a backward operator
-- @column input_shapes text Shapes of the inputs, JSON
-- @column parent_index id Innermost call around it
-- @column outlives_parent flag Does it end after that call?
-- @column parent_operator_index id Innermost operator around it
-- @column operator_index id Innermost operator open at its start; an operator names itself
-- @column top_operator_index id Outermost operator open at its start; an outermost operator names itself
-- @column step id Step that it started in
-- @column module_index id Innermost module call open at its start
-- @column optimizer_index id Outermost call of the optimizer open at its start; an outermost one names itself
select
    call.run_id,
    call.event_index,
    call.call_kind,
    call.call_name,
    call.pid,
    call.tid,
    call.start_ns,
    call.duration_ns,
    call.end_ns,
    call.duration_ns - walk.covered_ns as self_duration_ns,
    call.correlation,
    call.external_id,
    call.sequence_number,
    call.forward_thread,
    call.input_shapes,
    walk.parent_index,
    coalesce(walk.inside_parent_ns < call.duration_ns, false) as outlives_parent,
    walk.parent_operator_index,
    walk.operator_index,
    walk.top_operator_index,
    walk.step,
    walk.module_index,
    walk.optimizer_index
from staging.stg_host_call as call
inner join intermediate.int_call_walk as walk
    on call.run_id = walk.run_id and call.event_index = walk.event_index
