-- The tree of host calls: one row per host call or memory event, with the calls around it.
--
-- The parent is the innermost call of the same thread that is still open at the start; one that ends exactly there is
-- closed. Calls are taken by start, longer first, then by their place in the file. A child may outlive its parent.
-- The tree is peeled level by level. On a thread, a call that starts when everything before it has ended is a head; the
-- calls up to the next head are its descendants; without the head they are peeled the same way. This is exact for
-- calls that overlap without being nested, where a count of open calls is not. A memory event takes part as a call of
-- no length, which is around nothing.
--
-- @title Tree of host calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column depth depth Number of calls around it
-- @column parent_index id Innermost call around it, NULL at the root
-- @column operator_index id Innermost operator open at its start: itself, for an operator
-- @column top_operator_index id Outermost operator open at its start: itself, for an operator without one
with recursive
entry as (
    select run_id, event_index, pid, tid, start_ns, end_ns, call_kind = 'operator' as is_operator
    from staging.stg_host_call
    union all
    select run_id, event_index, pid, tid, time_ns as start_ns, time_ns as end_ns, false as is_operator
    from staging.stg_memory_event
),

ordered as (
    select
        run_id,
        event_index,
        start_ns,
        end_ns,
        is_operator,
        row_number() over (partition by run_id order by pid, tid, start_ns, end_ns desc, event_index) as position,
        dense_rank() over (partition by run_id order by pid, tid) as thread
    from entry
),

peeled as (
    select
        run_id,
        event_index,
        start_ns,
        end_ns,
        is_operator,
        position,
        -1 as depth,
        false as is_head,
        {'position': thread, 'event_index': null::bigint, 'end_ns': null::bigint, 'is_operator': false} as head,
        null::bigint as parent_index,
        null::bigint as operator_index,
        null::bigint as top_operator_index
    from ordered
    union all
    select
        run_id,
        event_index,
        start_ns,
        end_ns,
        is_operator,
        position,
        depth,
        is_head,
        max(
            case
                when is_head
                    then {'position': position, 'event_index': event_index, 'end_ns': end_ns, 'is_operator': is_operator}
            end
        ) over (partition by run_id, family.position order by position) as head,
        family.event_index as parent_index,
        coalesce(around, operator_index) as operator_index,
        coalesce(top_operator_index, around) as top_operator_index
    from (
        select
            * exclude (depth, is_head, head),
            depth + 1 as depth,
            head as family,
            case when head.is_operator and head.end_ns > start_ns then head.event_index end as around,
            start_ns >= coalesce(
                max(end_ns) over (
                    partition by run_id, head.position
                    order by position
                    rows between unbounded preceding and 1 preceding
                ),
                start_ns
            ) as is_head
        from peeled
        where not is_head
    )
)

select
    run_id,
    event_index,
    depth,
    parent_index,
    case when is_operator then event_index else operator_index end as operator_index,
    coalesce(top_operator_index, case when is_operator then event_index end) as top_operator_index
from peeled
where is_head
