-- Host calls in their tree, with self time and step: one row per host call.
--
-- Self time is the duration less the part that direct children cover; children of one call never overlap each other,
-- since the later would be a child of the earlier.
--
-- @title Host calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column call_kind category operator, annotation or runtime; launch or enqueue on Ascend devices
-- @column call_name name Name of the call
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column self_duration_ns duration_ns Duration not covered by direct children
-- @column correlation id Key of what a runtime call launched or an operator enqueued
-- @column external_id id Key of an operator
-- @column sequence_number id Autograd sequence number
-- @column forward_thread id Thread of the forward operator, on a backward operator
-- @column input_shapes text Shapes of the inputs, JSON
-- @column parent_index id Innermost call around it
-- @column outlives_parent flag Does it end after that call?
-- @column parent_operator_index id Innermost operator around it
-- @column operator_index id Innermost operator open at its start: itself, for an operator
-- @column top_operator_index id Outermost operator open at its start: itself, for an operator without one
-- @column step id Step that it started in
with
covered as (
    select run_id, parent_index, sum(inside_parent_ns)::bigint as covered_ns
    from intermediate.int_call_tree
    where parent_index is not null
    group by run_id, parent_index
)

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
    call.duration_ns - coalesce(covered.covered_ns, 0) as self_duration_ns,
    call.correlation,
    call.external_id,
    call.sequence_number,
    call.forward_thread,
    call.input_shapes,
    tree.parent_index,
    coalesce(tree.inside_parent_ns < call.duration_ns, false) as outlives_parent,
    tree.parent_operator_index,
    tree.operator_index,
    tree.top_operator_index,
    tree.step
from staging.stg_host_call as call
inner join intermediate.int_call_tree as tree
    on call.run_id = tree.run_id and call.event_index = tree.event_index
left join covered
    on call.run_id = covered.run_id and call.event_index = covered.parent_index
