-- Modules of device activities: one row per device activity that has a launch.
--
-- The module is the innermost one around the launch. Inside backward operators it is the module of the forward
-- operator; of nested ones, the innermost with such a module counts. Else it is the call of the optimizer.
--
-- @title Modules of device activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the activity in the file
-- @column module_index id Module call; NULL outside any module
-- @column is_backward flag Is it the backward pass of that call?
select
    activity.run_id,
    activity.event_index,
    coalesce(launch.module_index, operator.backward_module_index, launch.optimizer_index) as module_index,
    launch.module_index is null and operator.backward_module_index is not null as is_backward
from intermediate.int_activity_launch as activity
inner join intermediate.int_host_call as launch
    on activity.run_id = launch.run_id and activity.launch_index = launch.event_index
left join intermediate.int_operator_walk as operator
    on launch.run_id = operator.run_id and launch.operator_index = operator.event_index
