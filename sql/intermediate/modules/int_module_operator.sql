-- Device activities with the module call and operator that launched them: one row per device activity with a usable
-- time.
--
-- The operator is the outermost one around the launch within the module call. Without one, the name gives the reason,
-- in parentheses.
--
-- @title Operators of module calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the activity in the file
-- @column module_index id Module call; NULL outside any module
-- @column is_backward flag Is it the backward pass of that call?
-- @column operator_index id Outermost operator of the module call: position in the file
-- @column operator_name name Its name, or the reason for its absence
-- @column step id Step of the activity
-- @column kernel_name name Name of the activity
-- @column launch_start_ns timestamp_ns Start of its launch
-- @column duration_ns duration_ns Duration
select
    activity.run_id,
    activity.event_index,
    module.module_index,
    coalesce(module.is_backward, false) as is_backward,
    outermost.event_index as operator_index,
    case
        when outermost.event_index is not null then outermost.operator_name
        when
            activity.top_operator_name in ('(graph launch)', '(no launch in the trace)')
            then activity.top_operator_name
        else '(no operator)'
    end as operator_name,
    activity.step,
    activity.activity_name as kernel_name,
    activity.launch_start_ns,
    activity.duration_ns
from intermediate.int_device_activity as activity
inner join intermediate.int_activity_launch as launch
    on activity.run_id = launch.run_id and activity.event_index = launch.event_index
left join intermediate.int_activity_module as module
    on activity.run_id = module.run_id and activity.event_index = module.event_index
left join intermediate.int_operator_call as operator
    on
        launch.run_id = operator.run_id
        and launch.operator_index = operator.event_index
        and module.module_index is not distinct from operator.module_index
        and coalesce(module.is_backward, false) = operator.is_module_backward
left join intermediate.int_operator_call as outermost
    on operator.run_id = outermost.run_id and operator.outermost_index = outermost.event_index
where activity.quarantine_reason is null
