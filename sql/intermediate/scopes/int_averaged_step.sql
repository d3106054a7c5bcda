-- Steps that make up the average step: one row per run and step.
--
-- These are the complete steps, since a step at the edge of the recording lacks kernels; in a run without device
-- activities, all steps. If all complete steps are idle, there is no average: the activities belong to other steps or
-- to none.
--
-- @title Steps of the average
-- @grain run_id, step
-- @order run_id, step
-- @column run_id id Run
-- @column step id Step
-- @column step_count count Number of these steps
-- Not a window function: that would read the files of all runs.
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
