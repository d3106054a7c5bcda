-- Backward operators at which a fwdbwd flow ends: one row per such operator.
--
-- A flow starts at the forward operator and ends at the start of the backward operator.
--
-- @title Flows to the backward pass
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the operator belongs to
-- @column event_index id Position of the backward operator in the file
-- @column sequence_number id Autograd sequence number
-- @column forward_thread id Autograd's number of the forward operator's thread; 0 for none
-- @column forward_pid id Process of the forward operator
-- @column forward_tid id Thread of the forward operator
-- @column forward_index id Start of the flow at the forward operator: position in the file
with
flow as (
    select
        finish.run_id,
        finish.pid,
        finish.tid,
        finish.time_ns,
        {'start_ns': origin.time_ns, 'pid': origin.pid, 'tid': origin.tid, 'event_index': origin.event_index} as forward
    from (select * from staging.stg_forward_backward where is_backward) as finish
    asof inner join (select * from staging.stg_forward_backward where not is_backward) as origin
        on finish.run_id = origin.run_id and finish.flow_id = origin.flow_id and finish.time_ns >= origin.time_ns
),

ended as (
    select
        operator.run_id,
        operator.event_index,
        operator.sequence_number,
        coalesce(operator.forward_thread, 0) as forward_thread,
        max(flow.forward) as forward
    from intermediate.int_host_call as operator
    inner join flow
        on
            operator.run_id = flow.run_id
            and operator.pid = flow.pid
            and operator.tid = flow.tid
            and operator.start_ns = flow.time_ns
    where operator.call_kind = 'operator'
    group by operator.run_id, operator.event_index, operator.sequence_number, operator.forward_thread
)

select
    run_id,
    event_index,
    sequence_number,
    forward_thread,
    forward.pid as forward_pid,
    forward.tid as forward_tid,
    forward.event_index as forward_index
from ended
