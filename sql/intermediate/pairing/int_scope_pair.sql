-- Pairs of scopes that comparisons cover: one row per pair of runs and scope that both have.
--
-- Whole run pairs with whole run, average step with average step, and a step with the step of the same number. The
-- table macros `marts.…_of_steps` compare any other two steps.
--
-- @title Pairs of scopes
-- @grain base_run_id, base_step, comparison_run_id, comparison_step
-- @order base_run_id, base_step, comparison_run_id, comparison_step
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
select
    base.run_id as base_run_id,
    base.step as base_step,
    comparison.run_id as comparison_run_id,
    comparison.step as comparison_step
from intermediate.int_scope as base
inner join intermediate.int_scope as comparison on macros.scope(base.step) = macros.scope(comparison.step)
