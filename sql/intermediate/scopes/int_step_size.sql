-- Steps of a run: one row per step.
--
-- A device activity belongs to the step that launched it, even if it runs after that step's marker has closed. A step
-- is complete if every kernel launch in it has its activity. Steps at the edge of the recording often are not.
--
-- @title Sizes of steps
-- @grain run_id, step
-- @order run_id, step
-- @materialized
-- @column run_id id Run
-- @column step id Number of the step
-- @column is_complete flag Does every kernel launch have its activity? NULL without device activities in the run
-- @column start_ns timestamp_ns Start of the host marker
-- @column duration_ns duration_ns Length of the host marker
-- @column duration_with_tail_ns duration_ns From the marker's start to its own end or the end of the last activity, whichever is later
-- @column device_activity_count count Device activities
-- @column device_duration_ns duration_ns Sum of their durations
-- @column launch_count count Kernel launches
-- @column launch_without_activity_count count Kernel launches whose activity is not in the trace
with
activity as (
    select
        run_id,
        step,
        count(*) as device_activity_count,
        sum(duration_ns)::bigint as device_duration_ns,
        max(end_ns) as last_end_ns
    from intermediate.int_device_activity
    where quarantine_reason is null and step is not null
    group by run_id, step
),

launched as (
    select distinct run_id, launch_index from intermediate.int_device_activity where launch_index is not null
),

launch as (
    select run_id, event_index, parent_index, step
    from intermediate.int_host_call
    where call_kind = 'runtime' and step is not null and macros.is_launch_name(call_name)
),

-- A driver launch inside a runtime launch is the same launch; the activity may have the id of either.
outermost as (
    select
        launch.run_id,
        coalesce(around.event_index, launch.event_index) as event_index,
        any_value(coalesce(around.step, launch.step)) as step,
        bool_or(launched.launch_index is not null) as has_activity
    from launch
    left join launch as around on launch.run_id = around.run_id and launch.parent_index = around.event_index
    left join launched on launch.run_id = launched.run_id and launch.event_index = launched.launch_index
    group by launch.run_id, coalesce(around.event_index, launch.event_index)
),

launch_count as (
    select
        run_id,
        step,
        count(*) as launch_count,
        count(*) filter (where not has_activity) as launch_without_activity_count
    from outermost
    group by run_id, step
)

select
    step.run_id,
    step.step,
    case when size.device_activity_count > 0 then coalesce(launch.launch_without_activity_count, 0) = 0 end
        as is_complete,
    step.start_ns,
    step.end_ns - step.start_ns as duration_ns,
    greatest(step.end_ns, activity.last_end_ns) - step.start_ns as duration_with_tail_ns,
    case when size.device_activity_count > 0 then coalesce(activity.device_activity_count, 0) end
        as device_activity_count,
    case when size.device_activity_count > 0 then coalesce(activity.device_duration_ns, 0) end as device_duration_ns,
    coalesce(launch.launch_count, 0) as launch_count,
    coalesce(launch.launch_without_activity_count, 0) as launch_without_activity_count
from intermediate.int_step as step
left join intermediate.int_run_size as size on step.run_id = size.run_id
left join activity on step.run_id = activity.run_id and step.step = activity.step
left join launch_count as launch on step.run_id = launch.run_id and step.step = launch.step
