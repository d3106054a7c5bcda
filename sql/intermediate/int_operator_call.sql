-- Operator calls with their module and what they launched: one row per operator call.
--
-- The module is the one that the thread is in at the start. The outermost operators of a module call are those that no other
-- operator of the same call is around. Device time counts for the operator that launched it and for all around that.
--
-- @title Operator calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Place of the call in the file
-- @column operator_name name Name
-- @column parent_operator_index id Innermost operator around it
-- @column outermost_index id Outermost operator of the same module call around it: itself, for an outermost one
-- @column module_index id Module call that it is in
-- @column is_module_backward flag Is it part of the backward pass of that call?
-- @column is_backward flag Is it an operator of the backward pass, by its name or its forward thread?
-- @column step id Step that it started in
-- @column start_ns timestamp_ns Start
-- @column input_shapes text Shapes of the inputs, JSON
-- @column top_operator_index id Outermost operator around it: itself, for an outermost one
-- @column self_activity_count count Device activities launched by itself, not by operators inside
-- @column self_device_duration_ns duration_ns Sum of their durations
-- @column device_activity_count count Device activities launched
-- @column device_duration_ns duration_ns Sum of their durations
with recursive
-- Only threads that are in a module at some time are sorted for it.
placed as (
    select call.run_id, call.event_index, segment.module_index, segment.is_backward
    from (
        select run_id, event_index, pid, tid, start_ns
        from intermediate.int_host_call
        where call_kind = 'operator' and (run_id, pid, tid) in (select (run_id, pid, tid) from intermediate.int_module_segment)
    ) as call
    asof inner join intermediate.int_module_segment as segment
        on
            call.run_id = segment.run_id
            and call.pid = segment.pid
            and call.tid = segment.tid
            and call.start_ns >= segment.start_ns
),

operator as materialized (
    select
        call.run_id,
        call.event_index,
        call.call_name as operator_name,
        parent.operator_index as parent_operator_index,
        placed.module_index,
        coalesce(placed.is_backward, false) as is_module_backward,
        call.call_name ilike '%backward%'
        or call.call_name ilike 'autograd::engine::%'
        or call.call_name ilike '%torch::autograd::%'
        or coalesce(call.forward_thread > 0, false) as is_backward,
        call.step,
        call.pid,
        call.tid,
        call.start_ns,
        call.input_shapes,
        call.top_operator_index
    from intermediate.int_host_call as call
    left join intermediate.int_host_call as parent
        on call.run_id = parent.run_id and call.parent_index = parent.event_index
    left join placed
        on call.run_id = placed.run_id and call.event_index = placed.event_index
    where call.call_kind = 'operator'
),

-- Operators that are not in the module call of the operator around them, or not in its tree. In a tree without any, the first
-- operator is the outermost of all.
apart as materialized (
    select *
    from (
        select
            operator.run_id,
            operator.event_index,
            operator.top_operator_index,
            operator.top_operator_index is distinct from coalesce(parent.top_operator_index, operator.event_index) as is_elsewhere,
            parent.event_index is null
            or operator.module_index is distinct from parent.module_index
            or operator.is_module_backward <> parent.is_module_backward as is_outermost
        from operator
        left join operator as parent
            on operator.run_id = parent.run_id and operator.parent_operator_index = parent.event_index
    )
    where is_elsewhere or (is_outermost and event_index <> top_operator_index)
),

inner_outermost as (select run_id, event_index from apart where is_outermost),

mixed as (
    select *
    from operator
    where
        (run_id, top_operator_index) in (select (run_id, top_operator_index) from apart)
        and parent_operator_index is not null
        and (run_id, event_index) not in (select (run_id, event_index) from inner_outermost)
),

outermost as (
    select run_id, event_index, event_index as outermost_index
    from inner_outermost
    union all
    select mixed.run_id, mixed.event_index, other.event_index as outermost_index
    from mixed
    asof left join (
        select *
        from operator
        where
            (run_id, pid, tid) in (select (run_id, pid, tid) from mixed)
            and (
                parent_operator_index is null
                or (run_id, event_index) in (select (run_id, event_index) from inner_outermost)
            )
    ) as other
        on
            mixed.run_id = other.run_id
            and mixed.pid = other.pid
            and mixed.tid = other.tid
            and coalesce(mixed.module_index, -1) = coalesce(other.module_index, -1)
            and mixed.is_module_backward = other.is_module_backward
            and mixed.start_ns >= other.start_ns
),

launched as (
    select
        launch.run_id,
        launch.operator_index as event_index,
        true as is_self,
        count(*) as device_activity_count,
        sum(activity.duration_ns)::bigint as device_duration_ns
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_device_activity as activity
        on launch.run_id = activity.run_id and launch.event_index = activity.event_index
    where launch.operator_index is not null and activity.quarantine_reason is null
    group by launch.run_id, launch.operator_index
    union all
    select
        launched.run_id,
        operator.parent_operator_index,
        false as is_self,
        launched.device_activity_count,
        launched.device_duration_ns
    from launched
    inner join operator
        on launched.run_id = operator.run_id and launched.event_index = operator.event_index
    where operator.parent_operator_index is not null
),

device as (
    select
        run_id,
        event_index,
        sum(device_activity_count) filter (where is_self)::bigint as self_activity_count,
        sum(device_duration_ns) filter (where is_self)::bigint as self_device_duration_ns,
        sum(device_activity_count)::bigint as device_activity_count,
        sum(device_duration_ns)::bigint as device_duration_ns
    from launched
    group by run_id, event_index
)

select
    operator.run_id,
    operator.event_index,
    operator.operator_name,
    operator.parent_operator_index,
    case when outermost.event_index is null then operator.top_operator_index else outermost.outermost_index end as outermost_index,
    operator.module_index,
    operator.is_module_backward,
    operator.is_backward,
    operator.step,
    operator.start_ns,
    operator.input_shapes,
    operator.top_operator_index,
    coalesce(device.self_activity_count, 0) as self_activity_count,
    coalesce(device.self_device_duration_ns, 0) as self_device_duration_ns,
    coalesce(device.device_activity_count, 0) as device_activity_count,
    coalesce(device.device_duration_ns, 0) as device_duration_ns
from operator
left join outermost
    on operator.run_id = outermost.run_id and operator.event_index = outermost.event_index
left join device
    on operator.run_id = device.run_id and operator.event_index = device.event_index
