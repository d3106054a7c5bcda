-- Kernels of two runs side by side, by type: one row per pair of scopes, type of kernel and accelerator core.
--
-- A missing side counts as nothing in a difference. Types are recorded by Ascend profilers alone: where one of the runs is of a GPU, the
-- operator of the framework that launched stands for the type, and the class of its main kernel is told.
--
-- @title Kernel types
-- @sheet KernelTypeCompare
-- @position 55
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, kernel_type, accelerator_core
-- @order diff_total_duration_ns desc, kernel_type, accelerator_core
-- @rank diff_total_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column kernel_type name Type of kernel, or the operator that launched
-- @column accelerator_core category Unit that it ran on
-- @column matched_by category type or operator
-- @column base_total_duration_ns duration_ns Sum of durations, base
-- @column base_average_duration_ns duration_ns Average duration, base
-- @column base_max_duration_ns duration_ns Longest, base
-- @column base_min_duration_ns duration_ns Shortest, base
-- @column base_call_count count Calls, base
-- @column comparison_total_duration_ns duration_ns Sum of durations, comparison
-- @column comparison_average_duration_ns duration_ns Average duration, comparison
-- @column comparison_max_duration_ns duration_ns Longest, comparison
-- @column comparison_min_duration_ns duration_ns Shortest, comparison
-- @column comparison_call_count count Calls, comparison
-- @column diff_total_duration_ns duration_ns Sum of durations, comparison − base
-- @column diff_call_count count Calls, comparison − base
-- @column ratio_total_duration_ns ratio Sum of durations, comparison / base
with
pair as (
    select * replace (case when matched_by = 'type' then 'type' else 'operator' end as matched_by)
    from intermediate.int_kernel_match
),

entry as (
    select
        'type' as matched_by,
        run_id,
        step,
        kernel_type,
        accelerator_core,
        call_count,
        total_duration_ns,
        average_duration_ns,
        max_duration_ns,
        min_duration_ns
    from marts.kernel_type
    union all
    select
        'operator' as matched_by,
        run_id,
        step,
        operator_name as kernel_type,
        null as accelerator_core,
        sum(call_count)::bigint as call_count,
        sum(total_duration_ns)::bigint as total_duration_ns,
        round(sum(total_duration_ns) / sum(call_count))::bigint as average_duration_ns,
        max(max_duration_ns) as max_duration_ns,
        min(min_duration_ns) as min_duration_ns
    from marts.operator_kernel
    group by run_id, step, operator_name
),

either as (
    select
        pair.*,
        entry.kernel_type,
        entry.accelerator_core
    from pair
    inner join entry
        on
            pair.base_run_id = entry.run_id
            and pair.base_step is not distinct from entry.step
            and pair.matched_by = entry.matched_by
    union
    select
        pair.*,
        entry.kernel_type,
        entry.accelerator_core
    from pair
    inner join entry
        on
            pair.comparison_run_id = entry.run_id
            and pair.comparison_step is not distinct from entry.step
            and pair.matched_by = entry.matched_by
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.kernel_type,
    either.accelerator_core,
    either.matched_by,
    base.total_duration_ns as base_total_duration_ns,
    base.average_duration_ns as base_average_duration_ns,
    base.max_duration_ns as base_max_duration_ns,
    base.min_duration_ns as base_min_duration_ns,
    base.call_count as base_call_count,
    comparison.total_duration_ns as comparison_total_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.max_duration_ns as comparison_max_duration_ns,
    comparison.min_duration_ns as comparison_min_duration_ns,
    comparison.call_count as comparison_call_count,
    macros.or_nothing(comparison.run_id, comparison.total_duration_ns) - macros.or_nothing(base.run_id, base.total_duration_ns) as diff_total_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count) as diff_call_count,
    macros.ratio(base.total_duration_ns, comparison.total_duration_ns) as ratio_total_duration_ns
from either
left join entry as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.matched_by = base.matched_by
        and either.kernel_type is not distinct from base.kernel_type
        and either.accelerator_core is not distinct from base.accelerator_core
left join entry as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.matched_by = comparison.matched_by
        and either.kernel_type is not distinct from comparison.kernel_type
        and either.accelerator_core is not distinct from comparison.accelerator_core
