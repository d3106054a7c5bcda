-- Where the forward pass was that a backward operator belongs to: one row per backward operator whose forward operator is known.
--
-- A fwdbwd flow starts at the forward operator and ends at the backward operator. Where none ends at an operator of the
-- sequence number, it is the last operator of the forward pass with that number, rather on another thread than on the
-- backward operator's: sequence numbers are counted per thread, and the numbers in `Fwd thread id` are not those of tracks.
--
-- @title Forward operators of the backward pass
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the operator belongs to
-- @column event_index id Place of the backward operator in the file
-- @column forward_pid id Process of the forward operator
-- @column forward_tid id Thread of the forward operator
-- @column forward_start_ns timestamp_ns Start of the forward operator
with
flow as (
    select
        finish.run_id,
        finish.pid,
        finish.tid,
        finish.time_ns,
        {'pid': origin.pid, 'tid': origin.tid, 'start_ns': origin.time_ns} as forward
    from (select * from staging.stg_forward_backward where is_backward) as finish
    asof inner join (select * from staging.stg_forward_backward where not is_backward) as origin
        on finish.run_id = origin.run_id and finish.flow_id = origin.flow_id and finish.time_ns >= origin.time_ns
),

numbered as (
    select run_id, event_index, pid, tid, start_ns, sequence_number, coalesce(forward_thread, 0) as forward_thread
    from intermediate.int_host_call
    where call_kind = 'operator' and sequence_number is not null
),

by_flow as (
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
),

candidate as (
    select run_id, sequence_number, {'pid': pid, 'tid': tid, 'start_ns': max(start_ns)} as forward
    from numbered
    where forward_thread = 0
    group by run_id, sequence_number, pid, tid
),

by_number as (
    select
        backward.run_id,
        backward.event_index,
        max_by(
            candidate.forward,
            {
                'elsewhere': candidate.forward.pid <> backward.pid or candidate.forward.tid <> backward.tid,
                'forward': candidate.forward
            }
        ) as forward
    from numbered as backward
    anti join by_flow
        on
            backward.run_id = by_flow.run_id
            and backward.sequence_number = by_flow.sequence_number
            and backward.forward_thread = by_flow.forward_thread
    inner join candidate
        on
            backward.run_id = candidate.run_id
            and backward.sequence_number = candidate.sequence_number
            and backward.start_ns >= candidate.forward.start_ns
    where backward.forward_thread > 0
    group by backward.run_id, backward.event_index
)

select run_id, event_index, forward.pid as forward_pid, forward.tid as forward_tid, forward.start_ns as forward_start_ns
from (
    select run_id, event_index, forward from by_flow
    union all
    select run_id, event_index, forward from by_number
)
