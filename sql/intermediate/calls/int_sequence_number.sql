-- Operators with an autograd sequence number: one row per operator that has one, but for backward operators whose forward operator a flow tells.
--
-- A flow to one backward operator tells for the others of that number, too: the engine's call around it is none.
--
-- @title Sequence numbers
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the operator belongs to
-- @column event_index id Place of the operator in the file
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column sequence_number id Autograd sequence number
-- @column forward_thread id Number of the forward operator's thread, 0 for a forward operator
-- @column function_name name Name of the differentiable function: `addmm` for aten::addmm and for AddmmBackward0
select
    operator.run_id,
    operator.event_index,
    operator.pid,
    operator.tid,
    operator.start_ns,
    operator.sequence_number,
    coalesce(operator.forward_thread, 0) as forward_thread,
    lower(replace(regexp_extract(operator.call_name, '([^: ]*?)(?:Backward[0-9]*)?$', 1), '_', '')) as function_name
from intermediate.int_host_call as operator
anti join intermediate.int_backward_flow as flow
    on
        operator.forward_thread > 0
        and operator.run_id = flow.run_id
        and operator.sequence_number = flow.sequence_number
        and operator.forward_thread = flow.forward_thread
where operator.call_kind = 'operator' and operator.sequence_number is not null
