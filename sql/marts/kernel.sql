-- Kernels by name and shapes: one row per run, step, kernel name, class and shapes.
--
-- Collectives are kernels too, of class Communication; copies written as kernels have class Copy. Shapes are those of
-- the launching operator's inputs. On an Ascend device they are the kernel's own, NULL if the profiler level has none.
-- Comparisons pair kernels by `kernel_key`, the name without parts that differ between builds
-- (`seeds.kernel_numbering`).
--
-- @title Kernels
-- @grain run_id, step, kernel_name, kernel_type, accelerator_core, kernel_class, kernel_unit, class_rule, input_shapes
-- @order run_id, step, total_duration_ns desc, kernel_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column kernel_name name Name
-- @column kernel_type name Type of operator that the device executes, if the profiler records one
-- @column accelerator_core category Unit that it ran on, if the profiler records one
-- @column kernel_class category Class
-- @column kernel_unit category Cube (matrix unit) or Vector; for class Vector, Trans or No Trans
-- @column class_rule text Rule that decided the class
-- @column input_shapes text Shapes of the inputs
-- @column call_count count Calls
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column kernel_key name Identifies the kernel across executions: its type, or its name without numbers of lambdas and the like
with
counted as (
    select
        run_id,
        step,
        activity_name as kernel_name,
        kernel_type,
        accelerator_core,
        kernel_class,
        kernel_unit,
        class_rule,
        all_shapes as input_shapes,
        count(*) as call_count,
        sum(duration_ns)::bigint as total_duration_ns,
        round(avg(duration_ns))::bigint as average_duration_ns,
        max(duration_ns) as max_duration_ns,
        min(duration_ns) as min_duration_ns
    from (
        select *, case when is_npu then kernel_shapes else input_shapes end as all_shapes
        from intermediate.int_device_activity
    )
    where activity_kind = 'kernel' and quarantine_reason is null
    group by
        grouping sets (
            (run_id, activity_name, kernel_type, accelerator_core, kernel_class, kernel_unit, class_rule, all_shapes),
            (
                run_id, step, activity_name, kernel_type, accelerator_core,
                kernel_class, kernel_unit, class_rule, all_shapes
            )
        )
    having grouping(step) = 1 or step is not null
)

select counted.*, named.kernel_key
from counted
inner join intermediate.int_kernel_key as named
    on
        counted.run_id = named.run_id
        and counted.kernel_name is not distinct from named.kernel_name
        and counted.kernel_type is not distinct from named.kernel_type
