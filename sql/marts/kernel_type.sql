-- Kernels by type and unit: one row per run, step, kernel type and accelerator core.
--
-- Ascend profilers record the type. Collectives are left out, as in CANN's own `op_statistic` table, whose figures are
-- shown next to these if the profile has it. If the profile has only that table, it provides the figures of the whole
-- run.
--
-- @title Kernel types
-- @grain run_id, step, kernel_type, accelerator_core
-- @order run_id, step, total_duration_ns desc, kernel_type
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column kernel_type name Type of operator that the device executes
-- @column accelerator_core category Unit that it ran on
-- @column call_count count Calls
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column recorded_call_count count Calls according to `op_statistic`
-- @column recorded_duration_ns duration_ns Sum of durations according to `op_statistic`
with
counted as (
    select
        run_id,
        step,
        kernel_type,
        accelerator_core,
        count(*) as call_count,
        sum(duration_ns)::bigint as total_duration_ns,
        round(avg(duration_ns))::bigint as average_duration_ns,
        max(duration_ns) as max_duration_ns,
        min(duration_ns) as min_duration_ns
    from intermediate.int_device_activity
    where
        activity_kind = 'kernel'
        and activity_class <> 'communication'
        and quarantine_reason is null
        and nullif(kernel_type, 'N/A') is not null
    group by grouping sets ((run_id, kernel_type, accelerator_core), (run_id, step, kernel_type, accelerator_core))
    having grouping(step) = 1 or step is not null
),

recorded as (
    select
        run_id,
        name,
        category,
        sum(call_count)::bigint as call_count,
        sum(total_ns)::bigint as total_ns,
        case when count(*) = 1 then any_value(average_ns) else round(sum(total_ns) / sum(call_count))::bigint end
            as average_ns,
        max(max_ns) as max_ns,
        min(min_ns) as min_ns
    from staging.stg_statistic
    where source = 'op_statistic' and name is not null
    group by run_id, name, category
)

select
    coalesce(counted.run_id, recorded.run_id) as run_id,
    counted.step,
    coalesce(counted.kernel_type, recorded.name) as kernel_type,
    coalesce(counted.accelerator_core, recorded.category) as accelerator_core,
    coalesce(counted.call_count, recorded.call_count) as call_count,
    coalesce(counted.total_duration_ns, recorded.total_ns) as total_duration_ns,
    coalesce(counted.average_duration_ns, recorded.average_ns) as average_duration_ns,
    coalesce(counted.max_duration_ns, recorded.max_ns) as max_duration_ns,
    coalesce(counted.min_duration_ns, recorded.min_ns) as min_duration_ns,
    recorded.call_count as recorded_call_count,
    recorded.total_ns as recorded_duration_ns
from counted
full outer join recorded
    on
        counted.run_id = recorded.run_id
        and counted.step is null
        and counted.kernel_type = recorded.name
        and counted.accelerator_core is not distinct from recorded.category
where counted.run_id is not null or recorded.run_id not in (select run_id from counted)
