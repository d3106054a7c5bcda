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
with
operator as materialized (
    select
        call.run_id,
        call.event_index,
        call.call_name as operator_name,
        call.parent_operator_index,
        segment.module_index,
        coalesce(segment.is_backward, false) as is_module_backward,
        macros.is_backward_name(call.call_name) or coalesce(call.forward_thread > 0, false) as is_backward,
        call.step,
        call.pid,
        call.tid,
        call.start_ns,
        call.input_shapes,
        call.top_operator_index
    from intermediate.int_host_call as call
    asof left join intermediate.int_module_segment as segment
        on
            call.run_id = segment.run_id
            and call.pid = segment.pid
            and call.tid = segment.tid
            and call.start_ns >= segment.start_ns
    where call.call_kind = 'operator'
),

-- Of most operators, the outermost around is of the same module call, and then it is that.
inside as (
    select
        operator.*,
        case
            when
                operator.module_index is not distinct from top_operator.module_index
                and operator.is_module_backward = top_operator.is_module_backward
                then operator.top_operator_index
        end as outermost_index
    from operator
    left join operator as top_operator
        on operator.run_id = top_operator.run_id and operator.top_operator_index = top_operator.event_index
),

-- Of the others, it is the last one before of the same module call whose parent is of another.
other as (
    select
        inside.run_id,
        inside.event_index,
        inside.pid,
        inside.tid,
        inside.start_ns,
        inside.is_module_backward,
        coalesce(inside.module_index, -1) as module_index,
        inside.module_index is distinct from parent.module_index
        or inside.is_module_backward <> parent.is_module_backward as is_outermost
    from inside
    inner join operator as parent
        on inside.run_id = parent.run_id and inside.parent_operator_index = parent.event_index
    where inside.outermost_index is null
),

deeper as (
    select run_id, event_index, event_index as outermost_index from other where is_outermost
    union all by name
    select within.run_id, within.event_index, outermost.event_index as outermost_index
    from (select * from other where not is_outermost) as within
    asof inner join (select * from other where is_outermost) as outermost
        on
            within.run_id = outermost.run_id
            and within.pid = outermost.pid
            and within.tid = outermost.tid
            and within.module_index = outermost.module_index
            and within.is_module_backward = outermost.is_module_backward
            and within.start_ns >= outermost.start_ns
),

device as (
    select
        launch.run_id,
        launch.event_index,
        count(*) filter (where launch.is_own) as self_activity_count,
        sum(activity.duration_ns) filter (where launch.is_own)::bigint as self_device_duration_ns,
        count(*) as device_activity_count,
        sum(activity.duration_ns)::bigint as device_duration_ns
    from intermediate.int_operator_launch as launch
    inner join intermediate.int_device_activity as activity
        on launch.run_id = activity.run_id and launch.activity_index = activity.event_index
    where activity.quarantine_reason is null
    group by launch.run_id, launch.event_index
)

select
    operator.run_id,
    operator.event_index,
    operator.operator_name,
    operator.parent_operator_index,
    coalesce(operator.outermost_index, deeper.outermost_index) as outermost_index,
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
from inside as operator
left join deeper
    on operator.run_id = deeper.run_id and operator.event_index = deeper.event_index
left join device
    on operator.run_id = device.run_id and operator.event_index = device.event_index
