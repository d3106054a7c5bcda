-- The tree of host calls: one row per host call or memory event, with the calls around it.
--
-- The parent is the innermost call of the same thread that is still open at the start; a child may outlive its parent.
-- Where the calls of a group (a call at the root and all that starts before everything in it has ended) are nested, the parent
-- of a call with n calls open is the last call before it with n - 1; a group is nested if and only if no call found so
-- outlives its parent. The other groups are peeled, which is exact for any overlap: without its first call, a group falls into
-- groups whose first calls are its children, and so on.
--
-- @title Tree of host calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column parent_index id Innermost call around it, NULL at the root
-- @column parent_end_ns timestamp_ns End of that call
-- @column operator_index id Innermost operator open at its start: itself, for an operator
-- @column top_operator_index id Outermost operator open at its start: itself, for an operator without one
with recursive
call as materialized (
    select
        *,
        max(case when open_count = 0 then position end) over along as root,
        max(case when is_operator and open_operator_count = 0 then position end) over along as top_position
    from intermediate.int_call_sweep
    window along as (partition by run_id, thread order by position rows between unbounded preceding and current row)
),

nested as materialized (
    select
        call.run_id,
        call.thread,
        call.root,
        call.event_index,
        parent.event_index as parent_index,
        parent.end_ns as parent_end_ns,
        case when call.is_operator then call.event_index else operator.event_index end as operator_index,
        top_operator.event_index as top_operator_index,
        coalesce(call.end_ns > parent.end_ns, false) as is_outliving
    from call
    asof left join (select * from call where end_ns > start_ns) as parent
        on
            call.run_id = parent.run_id
            and call.thread = parent.thread
            and call.open_count - 1 = parent.open_count
            and call.position > parent.position
    asof left join (select * from call where is_operator and end_ns > start_ns) as operator
        on
            call.run_id = operator.run_id
            and call.thread = operator.thread
            and call.open_operator_count - 1 = operator.open_operator_count
            and call.position > operator.position
    left join call as top_operator
        on
            call.run_id = top_operator.run_id
            and call.thread = top_operator.thread
            and call.top_position = top_operator.position
            and (call.is_operator or call.open_operator_count > 0)
),

crossed as materialized (
    select distinct run_id, thread, root from nested where is_outliving
),

peeled as (
    select
        call.run_id,
        call.event_index,
        call.start_ns,
        call.end_ns,
        call.is_operator,
        call.position,
        call.thread,
        call.root as family,
        {'position': call.root, 'event_index': null::bigint, 'end_ns': null::bigint, 'is_operator': false} as head,
        false as is_head,
        null::bigint as parent_index,
        null::bigint as parent_end_ns,
        null::bigint as operator_index,
        null::bigint as top_operator_index
    from call
    inner join crossed on call.run_id = crossed.run_id and call.thread = crossed.thread and call.root = crossed.root
    union all
    select
        run_id,
        event_index,
        start_ns,
        end_ns,
        is_operator,
        position,
        thread,
        head.position as family,
        max(
            case
                when is_first
                    then {'position': position, 'event_index': event_index, 'end_ns': end_ns, 'is_operator': is_operator}
            end
        ) over (partition by run_id, thread, head.position order by position) as head,
        is_first as is_head,
        head.event_index as parent_index,
        head.end_ns as parent_end_ns,
        coalesce(around, operator_index) as operator_index,
        coalesce(top_operator_index, around) as top_operator_index
    from (
        select
            *,
            case when head.is_operator and head.end_ns > start_ns then head.event_index end as around,
            start_ns >= coalesce(
                max(end_ns) over (
                    partition by run_id, thread, head.position
                    order by position
                    rows between unbounded preceding and 1 preceding
                ),
                start_ns
            ) as is_first
        from peeled
        where not is_head
    )
)

select run_id, event_index, parent_index, parent_end_ns, operator_index, top_operator_index
from nested
anti join crossed using (run_id, thread, root)
union all
select
    run_id,
    event_index,
    parent_index,
    parent_end_ns,
    case when is_operator then event_index else operator_index end as operator_index,
    coalesce(top_operator_index, case when is_operator then event_index end) as top_operator_index
from peeled
where is_head
