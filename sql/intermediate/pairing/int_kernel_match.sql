-- How kernels of two runs are matched: one row per pair of scopes.
--
-- Two runs on GPUs match kernels by name, two on Ascend devices by type. A GPU and an Ascend device share no kernels:
-- there, the framework operators that launched them match, with their shapes.
--
-- @title Matching of kernels
-- @grain base_run_id, base_step, comparison_run_id, comparison_step
-- @order base_run_id, base_step, comparison_run_id, comparison_step
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column matched_by category kernel (name), type or operator
select
    pair.*,
    case
        when
            coalesce(base.is_npu, comparison.is_npu, false) <> coalesce(comparison.is_npu, base.is_npu, false)
            then 'operator'
        when coalesce(base.is_npu, comparison.is_npu, false) then 'type'
        else 'kernel'
    end as matched_by
from intermediate.int_scope_pair as pair
inner join intermediate.int_run_size as base on pair.base_run_id = base.run_id
inner join intermediate.int_run_size as comparison on pair.comparison_run_id = comparison.run_id
