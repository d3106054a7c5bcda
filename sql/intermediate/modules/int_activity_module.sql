-- Which module device activities belong to: one row per device activity that has a launch.
--
-- It is the module that the launching thread is in at the launch.
--
-- @title Modules of device activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Place of the activity in the file
-- @column module_index id Module call; NULL outside any module
-- @column is_backward flag Is it the backward pass of that call?
select
    activity.run_id,
    activity.event_index,
    segment.module_index,
    coalesce(segment.is_backward, false) as is_backward
from intermediate.int_activity_launch as activity
inner join intermediate.int_host_call as launch
    on activity.run_id = launch.run_id and activity.launch_index = launch.event_index
asof left join intermediate.int_module_segment as segment
    on
        launch.run_id = segment.run_id
        and launch.pid = segment.pid
        and launch.tid = segment.tid
        and launch.start_ns >= segment.start_ns
