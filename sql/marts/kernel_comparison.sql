-- Kernels of two runs side by side: one row per pair of scopes, kernel and shapes.
--
-- A missing side counts as nothing in a difference. Kernels of GPUs are matched by name and the shapes of the launching operator,
-- those of Ascend devices by type and their own shapes. Names that differ only in what builds number differently (lambdas, Inductor's
-- kernels, hashes: `seeds.kernel_numbering`) match: a row adds them up, says how many they are, and bears what they have in common.
-- Between devices of two kinds no kernel has a twin: there the framework's operators that launched kernels are matched, by name and
-- shapes; `marts.operator_kernel` names the kernels of each.
--
-- @title Kernels
-- @sheet KernelCompare
-- @position 50
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, kernel_name, input_shapes
-- @order diff_total_duration_ns desc, kernel_name, input_shapes
-- @rank diff_total_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column kernel_name name Kernel (`*` for numbers that differ), its type, or the operator that launched, as `matched_by` says
-- @column input_shapes text Shapes of the inputs
-- @column kernel_class category Class
-- @column matched_by category kernel, type or operator
-- @column base_total_duration_ns duration_ns Sum of durations, base
-- @column base_average_duration_ns duration_ns Average duration, base
-- @column base_max_duration_ns duration_ns Longest, base
-- @column base_min_duration_ns duration_ns Shortest, base
-- @column base_call_count count Calls, base
-- @column base_kernel_name name Kernel in full; of several the one with most time, base
-- @column base_kernel_name_count count Different kernels that the row adds up, base
-- @column comparison_total_duration_ns duration_ns Sum of durations, comparison
-- @column comparison_average_duration_ns duration_ns Average duration, comparison
-- @column comparison_max_duration_ns duration_ns Longest, comparison
-- @column comparison_min_duration_ns duration_ns Shortest, comparison
-- @column comparison_call_count count Calls, comparison
-- @column comparison_kernel_name name Kernel in full; of several the one with most time, comparison
-- @column comparison_kernel_name_count count Different kernels that the row adds up, comparison
-- @column diff_total_duration_ns duration_ns Sum of durations, comparison − base
-- @column diff_call_count count Calls, comparison − base
-- @column ratio_total_duration_ns ratio Sum of durations, comparison / base
with
entry as (
    select
        false as by_operator,
        run_id,
        step,
        kernel_key,
        input_shapes,
        min_by(kernel_name, (-total_duration_ns, kernel_name)) as kernel_name,
        count(distinct kernel_name) as kernel_name_count,
        max_by(kernel_class, total_duration_ns) as kernel_class,
        sum(call_count)::bigint as call_count,
        sum(total_duration_ns)::bigint as total_duration_ns,
        round(sum(total_duration_ns) / sum(call_count))::bigint as average_duration_ns,
        max(max_duration_ns) as max_duration_ns,
        min(min_duration_ns) as min_duration_ns
    from marts.kernel
    group by run_id, step, kernel_key, input_shapes
    union all
    select
        true as by_operator,
        run_id,
        step,
        operator_name as kernel_key,
        operator_shapes as input_shapes,
        main_kernel_name as kernel_name,
        kernel_name_count,
        kernel_class,
        call_count,
        total_duration_ns,
        average_duration_ns,
        max_duration_ns,
        min_duration_ns
    from marts.operator_kernel
),

either as (
    select
        pair.*,
        entry.kernel_key,
        entry.input_shapes
    from intermediate.int_kernel_match as pair
    inner join entry
        on
            pair.base_run_id = entry.run_id
            and pair.base_step is not distinct from entry.step
            and (pair.matched_by = 'operator') = entry.by_operator
    union
    select
        pair.*,
        entry.kernel_key,
        entry.input_shapes
    from intermediate.int_kernel_match as pair
    inner join entry
        on
            pair.comparison_run_id = entry.run_id
            and pair.comparison_step is not distinct from entry.step
            and (pair.matched_by = 'operator') = entry.by_operator
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    case
        when
            either.matched_by = 'kernel'
            and greatest(base.kernel_name_count, comparison.kernel_name_count) = 1
            and coalesce(base.kernel_name, comparison.kernel_name) = coalesce(comparison.kernel_name, base.kernel_name)
            then coalesce(base.kernel_name, comparison.kernel_name)
        else either.kernel_key
    end as kernel_name,
    either.input_shapes,
    coalesce(comparison.kernel_class, base.kernel_class) as kernel_class,
    either.matched_by,
    base.total_duration_ns as base_total_duration_ns,
    base.average_duration_ns as base_average_duration_ns,
    base.max_duration_ns as base_max_duration_ns,
    base.min_duration_ns as base_min_duration_ns,
    base.call_count as base_call_count,
    base.kernel_name as base_kernel_name,
    base.kernel_name_count as base_kernel_name_count,
    comparison.total_duration_ns as comparison_total_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.max_duration_ns as comparison_max_duration_ns,
    comparison.min_duration_ns as comparison_min_duration_ns,
    comparison.call_count as comparison_call_count,
    comparison.kernel_name as comparison_kernel_name,
    comparison.kernel_name_count as comparison_kernel_name_count,
    macros.or_nothing(comparison.run_id, comparison.total_duration_ns) - macros.or_nothing(base.run_id, base.total_duration_ns) as diff_total_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count) as diff_call_count,
    macros.ratio(base.total_duration_ns, comparison.total_duration_ns) as ratio_total_duration_ns
from either
left join entry as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and (either.matched_by = 'operator') = base.by_operator
        and either.kernel_key is not distinct from base.kernel_key
        and either.input_shapes is not distinct from base.input_shapes
left join entry as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and (either.matched_by = 'operator') = comparison.by_operator
        and either.kernel_key is not distinct from comparison.kernel_key
        and either.input_shapes is not distinct from comparison.input_shapes
