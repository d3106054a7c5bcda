-- Operators with an autograd sequence number: one row per such operator, except backward operators whose forward
-- operator a flow identifies.
--
-- A flow to one backward operator identifies the forward operator for all others with that number and thread, such as
-- the engine's own call around it.
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
-- @column forward_thread id Autograd's number of the forward operator's thread; 0 for a forward operator
-- @column function_name name Name of the differentiable function: `addmm` for both aten::addmm and AddmmBackward0
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
