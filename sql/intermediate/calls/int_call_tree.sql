-- The tree of host calls: one row per host call or memory event, with the calls around it and its step.
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
-- @long A recursion and what it begins with must be one statement.
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column parent_index id Innermost call around it, NULL at the root
-- @column inside_parent_ns duration_ns Part of its duration inside that call
-- @column parent_operator_index id Innermost operator around it
-- @column operator_index id Innermost operator open at its start: itself, for an operator
-- @column top_operator_index id Outermost operator open at its start: itself, for an operator without one
-- @column step id Step that it started in
with recursive
-- Each call stands among those with as many calls open, and where it may be around others once more, among those with one more.
standing as (
    select call.* exclude (run_id), call.open_count + twin.is_around::integer as level, twin.is_around
    from intermediate.int_call_sweep as call
    inner join (values (false), (true)) as twin (is_around) on call.end_ns > call.start_ns or not twin.is_around
),

-- Among those, the parent is the last one before that may be around others; there always is one, but among those with none open.
nested as materialized (
    select
        * exclude (level, is_around, around_index, around_end_ns, around_is_operator),
        case when open_count > 0 then around_index end as parent_index,
        case when open_count > 0 then around_end_ns end as parent_end_ns,
        case when open_count > 0 and around_is_operator then around_index end as parent_operator_index
    from (
        select
            *,
            last_value(case when is_around then event_index end ignore nulls) over so_far as around_index,
            last_value(case when is_around then end_ns end ignore nulls) over so_far as around_end_ns,
            last_value(case when is_around then is_operator end ignore nulls) over so_far as around_is_operator
        from (select * from standing order by thread, level, position)
        -- Along the sorted rows, as in the sweep: an asof join would hold them.
        window so_far as (rows between unbounded preceding and current row)
    )
    where not is_around
),

-- In an operator, but the parent is none: few, and then the operator is the last one before with one less open.
inside as (
    select * from nested where parent_operator_index is null and open_operator_count > 0
),

farther as (
    select inside.run_number, inside.event_index, operator.event_index as parent_operator_index
    from inside
    asof inner join (
        select *
        from nested
        where is_operator and end_ns > start_ns and thread in (select thread from inside)
    ) as operator
        on
            inside.thread = operator.thread
            and inside.open_operator_count - 1 = operator.open_operator_count
            and inside.position > operator.position
),

-- Groups on threads where a call outlives its parent: none, in most traces, and then nothing below costs anything.
grouped as (
    select
        *,
        max(case when open_count = 0 then position end) over (
            partition by thread order by position rows between unbounded preceding and current row
        ) as root
    from nested
    where thread in (select thread from nested where end_ns > parent_end_ns)
),

crossed as (
    select *
    from grouped
    where (thread, root) in (select (thread, root) from grouped where end_ns > parent_end_ns)
),

peeled as (
    select
        run_number,
        event_index,
        start_ns,
        end_ns,
        step,
        is_operator,
        position,
        thread,
        root as family,
        {'position': root, 'event_index': null::bigint, 'end_ns': null::bigint, 'is_operator': false} as head,
        false as is_head,
        null::bigint as parent_index,
        null::bigint as parent_end_ns,
        null::bigint as parent_operator_index,
        null::bigint as top_operator_index
    from crossed
    union all
    select
        run_number,
        event_index,
        start_ns,
        end_ns,
        step,
        is_operator,
        position,
        thread,
        head.position as family,
        max(
            case
                when is_first
                    then {'position': position, 'event_index': event_index, 'end_ns': end_ns, 'is_operator': is_operator}
            end
        ) over (partition by thread, head.position order by position) as head,
        is_first as is_head,
        head.event_index as parent_index,
        head.end_ns as parent_end_ns,
        coalesce(around, parent_operator_index) as parent_operator_index,
        coalesce(top_operator_index, around) as top_operator_index
    from (
        select
            *,
            case when head.is_operator and head.end_ns > start_ns then head.event_index end as around,
            start_ns >= coalesce(
                max(end_ns) over (
                    partition by thread, head.position
                    order by position
                    rows between unbounded preceding and 1 preceding
                ),
                start_ns
            ) as is_first
        from peeled
        where not is_head
    )
),

placed as (
    select
        nested.run_number,
        nested.event_index,
        nested.start_ns,
        nested.end_ns,
        nested.step,
        nested.parent_index,
        nested.parent_end_ns,
        nested.is_operator,
        coalesce(nested.parent_operator_index, farther.parent_operator_index) as parent_operator_index,
        nested.top_operator_index
    from nested
    left join farther on nested.run_number = farther.run_number and nested.event_index = farther.event_index
    where (nested.run_number, nested.event_index) not in (select (run_number, event_index) from crossed)
    union all by name
    select
        run_number,
        event_index,
        start_ns,
        end_ns,
        step,
        parent_index,
        parent_end_ns,
        is_operator,
        parent_operator_index,
        coalesce(top_operator_index, case when is_operator then event_index end) as top_operator_index
    from peeled
    where is_head
)

select
    run.run_id,
    placed.event_index,
    placed.parent_index,
    case when placed.parent_index is not null then least(placed.end_ns, placed.parent_end_ns) - placed.start_ns end
        as inside_parent_ns,
    placed.parent_operator_index,
    case when placed.is_operator then placed.event_index else placed.parent_operator_index end as operator_index,
    placed.top_operator_index,
    placed.step
from placed
inner join intermediate.int_run_number as run on placed.run_number = run.run_number
