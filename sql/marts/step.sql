-- Steps of a run: one row per step.
--
-- A device activity belongs to the step that launched it, even if it runs after that step's marker has closed. A step
-- is complete if every kernel launch in it has its activity. Steps at the edge of the recording often are not.
--
-- @title Steps
-- @grain run_id, step
-- @order run_id, step
-- @listed run_id, step, is_complete, duration_ns, duration_with_tail_ns, device_activity_count, device_duration_ns
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
select
    run_id,
    step,
    is_complete,
    start_ns,
    duration_ns,
    duration_with_tail_ns,
    device_activity_count,
    device_duration_ns,
    launch_count,
    launch_without_activity_count
from intermediate.int_step_size
