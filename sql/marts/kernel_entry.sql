-- Kernels as comparisons match them: one row per run, step, way of matching, kernel and shapes.
--
-- Kernels of GPUs match by name and the launching operator's shapes, those of Ascend devices by type and their own
-- shapes. Names match if they differ only in parts that each build numbers anew (lambdas, Inductor's kernels, hashes:
-- `seeds.kernel_numbering`). Such a row sums the kernels, counts them, and shows what their names have in common. A GPU
-- and an Ascend device share no kernels: there, the framework operators that launched kernels match, by name and
-- shapes; `marts.operator_kernel` names the kernels of each.
--
-- @title Kernels
-- @grain run_id, step, matched_by, kernel_key, input_shapes
-- @order run_id, step, matched_by, total_duration_ns desc, kernel_key, input_shapes
-- @sheet KernelCompare
-- @position 50
-- @comparison kernel_comparison
-- @key kernel_key named common_name as kernel_name, input_shapes
-- @attribute kernel_class
-- @measure total_duration_ns sum, difference, ratio, rank
-- @measure average_duration_ns average
-- @measure max_duration_ns longest
-- @measure min_duration_ns shortest
-- @measure call_count sum, difference
-- @measure kernel_name none
-- @measure kernel_name_count none
-- @pairs int_kernel_match
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column matched_by category How it is matched: kernel, type or operator
-- @column kernel_key name Kernel name without build numbers, kernel type, or launching operator
-- @column common_name name Kernel name (`*` for numbers that differ), its type, or the launching operator, as `matched_by` says
-- @column input_shapes text Shapes of the inputs
-- @column kernel_class category Class
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column call_count count Calls
-- @column kernel_name name Full kernel name (of several, the one with the most time)
-- @column kernel_name_count count Different kernels that the row sums up
with
kernel as (
    select
        kernel.run_id,
        kernel.step,
        case when size.is_npu then 'type' else 'kernel' end as matched_by,
        kernel.kernel_key,
        kernel.input_shapes,
        max_by(kernel.kernel_class, kernel.total_duration_ns) as kernel_class,
        sum(kernel.total_duration_ns)::bigint as total_duration_ns,
        round(sum(kernel.total_duration_ns) / sum(kernel.call_count))::bigint as average_duration_ns,
        max(kernel.max_duration_ns) as max_duration_ns,
        min(kernel.min_duration_ns) as min_duration_ns,
        sum(kernel.call_count)::bigint as call_count,
        min_by(kernel.kernel_name, (-kernel.total_duration_ns, kernel.kernel_name)) as kernel_name,
        count(distinct kernel.kernel_name) as kernel_name_count
    from marts.kernel as kernel
    inner join intermediate.int_run_size as size on kernel.run_id = size.run_id
    group by kernel.run_id, kernel.step, size.is_npu, kernel.kernel_key, kernel.input_shapes
)

select
    run_id,
    step,
    matched_by,
    kernel_key,
    case when matched_by = 'kernel' and kernel_name_count = 1 then kernel_name else kernel_key end as common_name,
    * exclude (run_id, step, matched_by, kernel_key)
from kernel
union all by name
select
    run_id,
    step,
    'operator' as matched_by,
    operator_name as kernel_key,
    operator_name as common_name,
    operator_shapes as input_shapes,
    kernel_class,
    total_duration_ns,
    average_duration_ns,
    max_duration_ns,
    min_duration_ns,
    call_count,
    main_kernel_name as kernel_name,
    kernel_name_count
from marts.operator_kernel
