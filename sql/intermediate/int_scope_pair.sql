-- Pairs of scopes that can be compared: one row per base scope and comparison scope.
--
-- @title Pairs of scopes
-- @grain base_run_id, base_step, comparison_run_id, comparison_step
-- @order base_run_id, base_step, comparison_run_id, comparison_step
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
select
    base.run_id as base_run_id,
    base.step as base_step,
    comparison.run_id as comparison_run_id,
    comparison.step as comparison_step
from intermediate.int_scope as base
cross join intermediate.int_scope as comparison
