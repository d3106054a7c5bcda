-- Forward operators of backward operators: one row per backward operator whose forward operator is known.
--
-- A fwdbwd flow leads to the forward operator. If no flow ends at an operator with the sequence number, the forward
-- operator is the last earlier one with that number on the thread of the forward pass.
--
-- @title Forward operators of the backward pass
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the operator belongs to
-- @column event_index id Position of the backward operator in the file
-- @column forward_index id Forward operator, or the start of the flow at it: position in the file
with
backward as (
    select operator.*, thread.tid as forward_tid
    from intermediate.int_sequence_number as operator
    inner join intermediate.int_forward_thread as thread
        on
            operator.run_id = thread.run_id
            and operator.pid = thread.pid
            and operator.forward_thread = thread.forward_thread
)

select run_id, event_index, forward_index
from intermediate.int_backward_flow
union all by name
select
    backward.run_id,
    backward.event_index,
    forward.event_index as forward_index
from backward
asof inner join (select * from intermediate.int_sequence_number where forward_thread = 0) as forward
    on
        backward.run_id = forward.run_id
        and backward.pid = forward.pid
        and backward.forward_tid = forward.tid
        and backward.sequence_number = forward.sequence_number
        and backward.start_ns >= forward.start_ns
