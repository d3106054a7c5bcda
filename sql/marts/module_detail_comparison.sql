-- Module calls of two runs paired one by one, with their operators: one row per pair of scopes and pair of nodes; a
-- node that one side lacks is a row, too.
--
-- Nodes pair from the outermost calls down: inside two paired calls, module calls pair by class and operators by name,
-- by the longest common subsequence in time order. Forward pairs with forward, backward with backward. `[ TOTAL ]` is
-- the call itself. Operators without device work are left out. A missing side counts as 0 in a difference.
--
-- @title Modules, call by call
-- @sheet ModuleCompare
-- @position 47
-- @detail
-- @alternative modules
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order row_order
-- @rank diff_device_self_duration_ns
-- @path base_module_name, comparison_module_name
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column row_order id Position of the row
-- @column module_class name Class; the base's if it has the call
-- @column module_level depth Nesting depth over both sides, 1 for an outermost module; NULL outside any module
-- @column base_module_name name Name of the module, base
-- @column base_operator_name name Operator (`[ TOTAL ]` for the call itself), base
-- @column base_input_shapes text Shapes of its inputs, base
-- @column base_kernels text Kernels and copies: name, nanoseconds, base
-- @column base_device_activity_count count Device activities, without nested modules, base
-- @column base_device_self_duration_ns duration_ns Device time without nested modules, base
-- @column base_device_total_duration_ns duration_ns Device time with nested modules, base
-- @column comparison_module_name name Name of the module, comparison
-- @column comparison_operator_name name Operator (`[ TOTAL ]` for the call itself), comparison
-- @column comparison_input_shapes text Shapes of its inputs, comparison
-- @column comparison_kernels text Kernels and copies: name, nanoseconds, comparison
-- @column comparison_device_activity_count count Device activities, without nested modules, comparison
-- @column comparison_device_self_duration_ns duration_ns Device time without nested modules, comparison
-- @column comparison_device_total_duration_ns duration_ns Device time with nested modules, comparison
-- @column diff_device_self_duration_ns duration_ns Device time without nested modules, comparison − base
-- @column diff_device_total_duration_ns duration_ns Device time with nested modules, comparison − base
-- @column ratio_device_total_duration_ns ratio Device time with nested modules, comparison / base
with
node as not materialized (
    select
        node.run_id,
        node.node,
        module.module_class,
        module.module_level,
        case when node.is_backward then '[ BACKWARD ]' else '' end || coalesce(module.module_path, '') as module_name,
        node.operator_name,
        operator.input_shapes,
        kernel.kernels,
        case when size.device_activity_count > 0 then node.device_activity_count end as device_activity_count,
        case when size.device_activity_count > 0 then node.device_self_duration_ns end as device_self_duration_ns,
        case when size.device_activity_count > 0 then node.device_total_duration_ns end as device_total_duration_ns
    from intermediate.int_module_node as node
    left join intermediate.int_module_call as call
        on node.run_id = call.run_id and node.module_index = call.event_index
    left join intermediate.int_module as module
        on call.run_id = module.run_id and call.module = module.module
    left join intermediate.int_operator_call as operator
        on node.run_id = operator.run_id and node.operator_index = operator.event_index
    left join intermediate.int_module_kernel as kernel
        on
            node.run_id = kernel.run_id
            and node.is_operator
            and node.module_index is not distinct from kernel.module_index
            and node.is_backward = kernel.is_backward
            and node.operator_index is not distinct from kernel.operator_index
            and node.operator_name = kernel.operator_name
            and node.step is not distinct from kernel.step
    left join intermediate.int_run_size as size on node.run_id = size.run_id
)

select
    pair.base_run_id,
    pair.base_step,
    pair.comparison_run_id,
    pair.comparison_step,
    pair.alignment_order as row_order,
    coalesce(base.module_class, comparison.module_class) as module_class,
    case
        when coalesce(base.module_level, comparison.module_level) is not null
            then pair.node_level - (coalesce(base.operator_name, comparison.operator_name) <> '[ TOTAL ]')::integer
    end as module_level,
    base.module_name as base_module_name,
    base.operator_name as base_operator_name,
    base.input_shapes as base_input_shapes,
    base.kernels as base_kernels,
    base.device_activity_count as base_device_activity_count,
    base.device_self_duration_ns as base_device_self_duration_ns,
    base.device_total_duration_ns as base_device_total_duration_ns,
    comparison.module_name as comparison_module_name,
    comparison.operator_name as comparison_operator_name,
    comparison.input_shapes as comparison_input_shapes,
    comparison.kernels as comparison_kernels,
    comparison.device_activity_count as comparison_device_activity_count,
    comparison.device_self_duration_ns as comparison_device_self_duration_ns,
    comparison.device_total_duration_ns as comparison_device_total_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.device_self_duration_ns)
    - macros.or_nothing(base.run_id, base.device_self_duration_ns) as diff_device_self_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.device_total_duration_ns)
    - macros.or_nothing(base.run_id, base.device_total_duration_ns) as diff_device_total_duration_ns,
    macros.ratio(base.device_total_duration_ns, comparison.device_total_duration_ns) as ratio_device_total_duration_ns
from intermediate.int_alignment as pair
left join node as base
    on pair.base_run_id = base.run_id and pair.base_node = base.node
left join node as comparison
    on pair.comparison_run_id = comparison.run_id and pair.comparison_node = comparison.node
where pair.tree = 'module call'
