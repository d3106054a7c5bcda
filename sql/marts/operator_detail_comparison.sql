-- Operator calls of two runs paired one by one: one row per pair of scopes and pair of operator calls; a call that one
-- side lacks is a row, too.
--
-- Outermost operators pair by the longest common subsequence of their names, step by step, forward with forward and
-- backward with backward. A call without a partner stays at its position. Variables change this: `use_input_shape`
-- matches by name and shapes, `op_name_map` maps names of both sides, and `max_kernel_num` opens an operator with more
-- kernels into its nested operators. A missing side counts as 0 in a difference.
--
-- @title Operators, call by call
-- @sheet OperatorCompare
-- @position 42
-- @detail
-- @alternative operators
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order row_order
-- @rank diff_device_duration_ns
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column row_order id Position of the row
-- @column base_operator_name name Operator, base
-- @column base_input_shapes text Shapes of its inputs, base
-- @column base_input_types text Types of its inputs, base
-- @column base_kernels text Kernels and copies (of an opened pair only its own): name, class, stream, nanoseconds, base
-- @column base_device_activity_count count Device activities launched, base
-- @column base_device_duration_ns duration_ns Sum of their durations, base
-- @column comparison_operator_name name Operator, comparison
-- @column comparison_input_shapes text Shapes of its inputs, comparison
-- @column comparison_input_types text Types of its inputs, comparison
-- @column comparison_kernels text Kernels and copies (of an opened pair only its own): name, class, stream, nanoseconds, comparison
-- @column comparison_device_activity_count count Device activities launched, comparison
-- @column comparison_device_duration_ns duration_ns Sum of their durations, comparison
-- @column diff_device_duration_ns duration_ns Device time launched, comparison − base
-- @column ratio_device_duration_ns ratio Device time launched, comparison / base
with
entry as (
    select
        pair.* exclude (
            base_device_activity_count,
            base_device_duration_ns,
            comparison_device_activity_count,
            comparison_device_duration_ns
        ),
        case when pair.is_opened then base_kernel.own_kernels else base_kernel.kernels end as base_kernels,
        case when base_size.device_activity_count > 0 then pair.base_device_activity_count end
            as base_device_activity_count,
        case when base_size.device_activity_count > 0 then pair.base_device_duration_ns end as base_device_duration_ns,
        case when pair.base_index is not null then pair.base_run_id end as base_id,
        case when pair.is_opened then comparison_kernel.own_kernels else comparison_kernel.kernels end
            as comparison_kernels,
        case when comparison_size.device_activity_count > 0 then pair.comparison_device_activity_count end
            as comparison_device_activity_count,
        case when comparison_size.device_activity_count > 0 then pair.comparison_device_duration_ns end
            as comparison_device_duration_ns,
        case when pair.comparison_index is not null then pair.comparison_run_id end as comparison_id
    from intermediate.int_operator_pair as pair
    left join intermediate.int_operator_kernel as base_kernel
        on pair.base_run_id = base_kernel.run_id and pair.base_index = base_kernel.event_index
    left join intermediate.int_run_size as base_size on pair.base_run_id = base_size.run_id
    left join intermediate.int_operator_kernel as comparison_kernel
        on pair.comparison_run_id = comparison_kernel.run_id and pair.comparison_index = comparison_kernel.event_index
    left join intermediate.int_run_size as comparison_size on pair.comparison_run_id = comparison_size.run_id
    where pair.is_shown
)

select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    row_order,
    base_operator_name,
    base_input_shapes,
    base_input_types,
    base_kernels,
    base_device_activity_count,
    base_device_duration_ns,
    comparison_operator_name,
    comparison_input_shapes,
    comparison_input_types,
    comparison_kernels,
    comparison_device_activity_count,
    comparison_device_duration_ns,
    macros.or_nothing(comparison_id, comparison_device_duration_ns)
    - macros.or_nothing(base_id, base_device_duration_ns) as diff_device_duration_ns,
    macros.ratio(base_device_duration_ns, comparison_device_duration_ns) as ratio_device_duration_ns
from entry
