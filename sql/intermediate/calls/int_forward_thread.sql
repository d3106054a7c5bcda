-- Threads that autograd's numbers of forward threads refer to: one row per run, process and number on a backward
-- operator without a flow.
--
-- Autograd numbers threads in its own way. Each thread counts sequence numbers from 0, so replicas of a model share
-- them. A number refers to the thread from which flows with that number start. Without flows, it is the thread with the
-- most of its sequence numbers at a function of the same name, then with the most of them at all. Among equals, a
-- thread that no lower number refers to comes first, then one without these backward operators, then the one that
-- starts first.
--
-- @title Threads of the forward pass
-- @grain run_id, pid, forward_thread
-- @order run_id, pid, forward_thread
-- @column run_id id Run
-- @column pid id Process
-- @column forward_thread id Number of the thread, as on backward operators
-- @column tid id Thread
with recursive
flow as (
    select run_id, forward_pid as pid, forward_thread, forward_tid as tid, count(*) as flow_count
    from intermediate.int_backward_flow
    group by run_id, forward_pid, forward_thread, forward_tid
),

forward as (
    select run_id, pid, tid, sequence_number, min(start_ns) as start_ns, list(distinct function_name) as function_names
    from intermediate.int_sequence_number
    where forward_thread = 0
    group by run_id, pid, tid, sequence_number
),

backward as (
    select
        run_id,
        pid,
        forward_thread,
        sequence_number,
        max(start_ns) as start_ns,
        list(distinct function_name) as function_names,
        list(distinct tid) as tids
    from intermediate.int_sequence_number
    where forward_thread > 0
    group by run_id, pid, forward_thread, sequence_number
),

candidate as (
    select
        backward.run_id,
        backward.pid,
        backward.forward_thread,
        forward.tid,
        count(*) filter (where list_has_any(backward.function_names, forward.function_names)) as named_count,
        count(*) as number_count,
        bool_or(list_contains(backward.tids, forward.tid)) as is_own,
        min(forward.start_ns) as start_ns
    from backward
    inner join forward
        on
            backward.run_id = forward.run_id
            and backward.pid = forward.pid
            and backward.sequence_number = forward.sequence_number
            and backward.start_ns >= forward.start_ns
    group by backward.run_id, backward.pid, backward.forward_thread, forward.tid
),

placed as materialized (
    select
        candidate.run_id,
        candidate.pid,
        candidate.forward_thread,
        candidate.tid,
        coalesce(flow.flow_count, 0) as flow_count,
        candidate.named_count,
        candidate.number_count,
        candidate.is_own,
        candidate.start_ns,
        dense_rank() over (partition by candidate.run_id, candidate.pid order by candidate.forward_thread) as turn
    from candidate
    left join flow
        on
            candidate.run_id = flow.run_id
            and candidate.pid = flow.pid
            and candidate.forward_thread = flow.forward_thread
            and candidate.tid = flow.tid
),

-- In order, from the lowest number: later numbers avoid threads that are taken.
chosen as (
    select distinct
        run_id, pid, 0::bigint as turn, null::bigint as forward_thread, null::varchar as tid, []::varchar[] as taken
    from placed
    union all
    select
        run_id, pid, turn, forward_thread, tid, list_append(taken, tid) as taken
    from (
        select
            placed.run_id,
            placed.pid,
            placed.turn,
            placed.forward_thread,
            any_value(chosen.taken) as taken,
            min_by(
                placed.tid,
                {
                    'flows': -placed.flow_count,
                    'named': -placed.named_count,
                    'numbers': -placed.number_count,
                    'is_taken': list_contains(chosen.taken, placed.tid),
                    'is_own': placed.is_own,
                    'start_ns': placed.start_ns
                }
            ) as tid
        from chosen
        inner join placed
            on chosen.run_id = placed.run_id and chosen.pid = placed.pid and chosen.turn + 1 = placed.turn
        group by placed.run_id, placed.pid, placed.turn, placed.forward_thread
    )
)

select run_id, pid, forward_thread, tid
from chosen
where forward_thread is not null
