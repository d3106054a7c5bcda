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
        operator.is_backward,
        coalesce(call.module, 0) as module,
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
        module,
        is_backward,
        operator_name,
        kernel_name,
        sum(activity_count)::bigint as activity_count,
        sum(duration_ns)::bigint as duration_ns
    from scoped
    group by run_id, step, module, is_backward, operator_name, kernel_name
)

select
    summed.run_id,
    summed.step,
    case when summed.is_backward then '[ BACKWARD ]' else '' end
    || coalesce(any_value(module.module_path), '') as module_name,
    summed.operator_name,
    string_agg(
        format('{} × {}: {} ns', summed.activity_count, summed.kernel_name, summed.duration_ns), chr(10)
        order by summed.duration_ns desc, summed.kernel_name
    ) as kernels,
    sum(summed.activity_count)::bigint as device_activity_count,
    sum(summed.duration_ns)::bigint as device_self_duration_ns
from summed
left join intermediate.int_module as module on summed.run_id = module.run_id and summed.module = module.module
group by summed.run_id, summed.step, summed.module, summed.is_backward, summed.operator_name
