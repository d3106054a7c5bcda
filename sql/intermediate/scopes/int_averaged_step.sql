-- Steps that the average step is made of: one row per run and step.
--
-- A step at the edge of the recording lacks kernels, so that complete steps alone count; all do where the run has no device activities.
-- Where all complete steps are idle there is no average: the activities belong to no step, or to others.
--
-- @title Steps of the average
-- @grain run_id, step
-- @order run_id, step
-- @column run_id id Run
-- @column step id Step
-- @column step_count count Steps of the average
-- Not a window: its count would be of the files of all runs.
select step.run_id, step.step, total.step_count
from intermediate.int_step_size as step
inner join (
    select run_id, count(*) as step_count
    from intermediate.int_step_size
    where coalesce(is_complete, true)
    group by run_id
    having bool_or(is_complete is null or device_activity_count > 0)
) as total on step.run_id = total.run_id
where coalesce(step.is_complete, true)
