-- How kernel types of two runs are matched: one row per pair of scopes.
--
-- Only Ascend profilers record types. If one of the runs is from a GPU, the launching operator takes the place of the
-- type.
--
-- @title Matching of types of kernels
-- @grain base_run_id, base_step, comparison_run_id, comparison_step
-- @order base_run_id, base_step, comparison_run_id, comparison_step
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column matched_by category type or operator
select * replace (case when matched_by = 'type' then 'type' else 'operator' end as matched_by)
from intermediate.int_kernel_match
