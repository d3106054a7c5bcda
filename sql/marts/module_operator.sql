-- Operators of each module and the device time that they launched: one row per run, step, module and operator name.
--
-- An operator here is the outermost one inside the module call. Times exclude nested modules, so the rows of a module
-- sum to its self time. Device time without an operator has rows named in parentheses.
--
-- @title Operators of modules
-- @grain run_id, step, module_name, operator_name
-- @order run_id, step, module_name, device_self_duration_ns desc, operator_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column module_name name Names from the outermost module down, as in `marts.module`
-- @column operator_name name Outermost operator of the module call, or the reason for its absence
-- @column kernels text Kernels and copies, longest first: count, name, nanoseconds, one per line
-- @column device_activity_count count Device activities launched
-- @column device_self_duration_ns duration_ns Sum of their durations
with
kernel as (
    select
        operator.run_id,
        operator.step,
        case when operator.is_backward then '[ BACKWARD ]' else '' end || coalesce(call.module_path, '') as module_name,
        operator.operator_name,
        operator.kernel_name,
        count(*) as activity_count,
        sum(operator.duration_ns)::bigint as duration_ns
    from intermediate.int_module_operator as operator
    left join intermediate.int_module_call as call
        on operator.run_id = call.run_id and operator.module_index = call.event_index
    semi join intermediate.int_module_call as any_call
        on operator.run_id = any_call.run_id
    group by all
),

scoped as (
    select * exclude (step), unnest(case when step is null then [null] else [null, step] end) as step
    from kernel
),

summed as (
    select
        run_id,
        step,
        module_name,
        operator_name,
        kernel_name,
        sum(activity_count)::bigint as activity_count,
        sum(duration_ns)::bigint as duration_ns
    from scoped
    group by run_id, step, module_name, operator_name, kernel_name
)

select
    run_id,
    step,
    module_name,
    operator_name,
    string_agg(
        format('{} × {}: {} ns', activity_count, kernel_name, duration_ns), chr(10) order by duration_ns desc, kernel_name
    ) as kernels,
    sum(activity_count)::bigint as device_activity_count,
    sum(duration_ns)::bigint as device_self_duration_ns
from summed
group by run_id, step, module_name, operator_name
