-- Kernels by the framework operator that launched them: one row per run, step, operator and shapes of its inputs.
--
-- The operator is the outermost one of the framework's dispatcher, which is the same on all devices. Kernels outside of
-- any keep the name of their top-level operator or the reason for its absence, in parentheses. Collectives, and copies
-- written as kernels, are kernels too.
--
-- @title Kernels by operator
-- @grain run_id, step, operator_name, operator_shapes
-- @order run_id, step, total_duration_ns desc, operator_name, operator_shapes
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column operator_name name Operator
-- @column operator_shapes text Shapes of its inputs
-- @column main_kernel_name name Kernel (on Ascend devices, its type) that takes the most time
-- @column kernel_class category Class of that kernel
-- @column call_count count Kernels
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column kernel_name_count count Different kernels (on Ascend devices, types)
with
kernel as (
    select
        activity.run_id,
        activity.step,
        coalesce(operator.operator_name, activity.top_operator_name) as operator_name,
        operator.operator_shapes,
        macros.kernel_key(activity.kernel_type, activity.activity_name) as kernel_name,
        activity.kernel_class,
        activity.duration_ns
    from intermediate.int_device_activity as activity
    left join intermediate.int_framework_operator as operator
        on activity.run_id = operator.run_id and activity.launch_index = operator.launch_index
    where activity.activity_kind = 'kernel' and activity.quarantine_reason is null
),

named as (
    select
        run_id,
        step,
        operator_name,
        operator_shapes,
        kernel_name,
        min(kernel_class) as kernel_class,
        count(*) as call_count,
        sum(duration_ns)::bigint as total_ns,
        max(duration_ns) as max_ns,
        min(duration_ns) as min_ns,
        grouping(step) as is_whole
    from kernel
    group by
        grouping sets (
            (run_id, operator_name, operator_shapes, kernel_name),
            (run_id, step, operator_name, operator_shapes, kernel_name)
        )
    having grouping(step) = 1 or step is not null
)

select
    run_id,
    step,
    operator_name,
    operator_shapes,
    min_by(kernel_name, (-total_ns, kernel_name)) as main_kernel_name,
    min_by(kernel_class, (-total_ns, kernel_name)) as kernel_class,
    sum(call_count)::bigint as call_count,
    sum(total_ns)::bigint as total_duration_ns,
    round(sum(total_ns) / sum(call_count))::bigint as average_duration_ns,
    max(max_ns) as max_duration_ns,
    min(min_ns) as min_duration_ns,
    count(*) as kernel_name_count
from named
group by run_id, step, operator_name, operator_shapes
