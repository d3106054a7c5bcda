-- Modules and their operators, as comparisons show them: one row per run, step, module and operator; `[ TOTAL ]` is the
-- module itself.
--
-- @title Modules and operators
-- @grain run_id, step, module_name, operator_key
-- @order run_id, step, module_name, operator_key
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column module_name name Name, as in `marts.module`
-- @column operator_key name Name of the operator, mapped by `op_name_map`; `[ TOTAL ]` for the module itself
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module
-- @column kernels text Kernels of the operator: count, name, nanoseconds
-- @column device_activity_count count Device activities
-- @column device_self_duration_ns duration_ns Device time without nested modules
-- @column device_total_duration_ns duration_ns Device time with nested modules; for an operator, the same as without
-- @column call_stack text Python functions around the module's first call
select
    run_id,
    step,
    module_name,
    '[ TOTAL ]' as operator_key,
    module_class,
    module_level,
    null::varchar as kernels,
    device_activity_count,
    device_self_duration_ns,
    device_total_duration_ns,
    call_stack
from marts.module
union all by name
select
    operator.run_id,
    operator.step,
    operator.module_name,
    macros.mapped_name(operator.operator_name) as operator_key,
    any_value(module.module_class) as module_class,
    any_value(module.module_level) as module_level,
    string_agg(operator.kernels, chr(10) order by operator.operator_name) as kernels,
    sum(operator.device_activity_count)::bigint as device_activity_count,
    sum(operator.device_self_duration_ns)::bigint as device_self_duration_ns,
    sum(operator.device_self_duration_ns)::bigint as device_total_duration_ns,
    null::varchar as call_stack
from marts.module_operator as operator
inner join intermediate.int_module_time as module
    on
        operator.run_id = module.run_id
        and macros.scope(operator.step) = macros.scope(module.step)
        and operator.module_name = module.module_name
group by operator.run_id, operator.step, operator.module_name, macros.mapped_name(operator.operator_name)
