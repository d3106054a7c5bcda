-- Kernels as comparisons of types match them: one row per run, step, way of matching, type and accelerator core.
--
-- If one of the runs is from a GPU, the framework operator that launched the kernel takes the place of the type.
--
-- @title Kernel types
-- @grain run_id, step, matched_by, kernel_type, accelerator_core
-- @order run_id, step, matched_by, total_duration_ns desc, kernel_type, accelerator_core
-- @sheet KernelTypeCompare
-- @position 55
-- @comparison kernel_type_comparison
-- @key kernel_type, accelerator_core
-- @measure total_duration_ns sum, difference, ratio, rank
-- @measure average_duration_ns average
-- @measure max_duration_ns longest
-- @measure min_duration_ns shortest
-- @measure call_count sum, difference
-- @pairs int_kernel_type_match
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column matched_by category How it is matched: type or operator
-- @column kernel_type name Kernel type, or launching operator
-- @column accelerator_core category Unit that it ran on
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column call_count count Calls
select
    run_id,
    step,
    'type' as matched_by,
    kernel_type,
    accelerator_core,
    total_duration_ns,
    average_duration_ns,
    max_duration_ns,
    min_duration_ns,
    call_count
from marts.kernel_type
union all by name
select
    run_id,
    step,
    'operator' as matched_by,
    operator_name as kernel_type,
    null as accelerator_core,
    sum(total_duration_ns)::bigint as total_duration_ns,
    round(sum(total_duration_ns) / sum(call_count))::bigint as average_duration_ns,
    max(max_duration_ns) as max_duration_ns,
    min(min_duration_ns) as min_duration_ns,
    sum(call_count)::bigint as call_count
from marts.operator_kernel
group by run_id, step, operator_name
