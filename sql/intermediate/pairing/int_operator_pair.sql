-- Pairs of operator calls as detailed comparisons show them: one row per pair of scopes and pair of calls; a call that
-- one side lacks is a row, too.
--
-- If the variable `max_kernel_num` is set, a pair with more device activities than that on either side is opened into
-- its nested operators. It keeps a row for its own activities.
--
-- @title Pairs of operator calls
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column row_order id Position of the pair
-- @column base_index id Operator call of the base: position in the file
-- @column comparison_index id Operator call of the comparison: position in the file
-- @column is_opened flag Do its nested operators have rows of their own?
-- @column is_shown flag Does it have a row of its own?
-- @column is_outermost flag Are both calls outermost operators?
-- @column base_operator_name name Operator, base
-- @column base_input_shapes text Shapes of its inputs, base
-- @column base_input_types text Types of its inputs, base
-- @column base_device_activity_count count Device activities launched (of an opened pair only its own), base
-- @column base_device_duration_ns duration_ns Sum of their durations, base
-- @column comparison_operator_name name Operator, comparison
-- @column comparison_input_shapes text Shapes of its inputs, comparison
-- @column comparison_input_types text Types of its inputs, comparison
-- @column comparison_device_activity_count count Device activities launched (of an opened pair only its own), comparison
-- @column comparison_device_duration_ns duration_ns Sum of their durations, comparison
with
pair as (
    select
        alignment.* exclude (tree),
        base.operator_name as base_operator_name,
        base.input_shapes as base_input_shapes,
        base_input.input_types as base_input_types,
        base.self_activity_count as base_self_activity_count,
        base.self_device_duration_ns as base_self_device_duration_ns,
        base.device_activity_count as base_device_activity_count,
        base.device_duration_ns as base_device_duration_ns,
        comparison.operator_name as comparison_operator_name,
        comparison.input_shapes as comparison_input_shapes,
        comparison_input.input_types as comparison_input_types,
        comparison.self_activity_count as comparison_self_activity_count,
        comparison.self_device_duration_ns as comparison_self_device_duration_ns,
        comparison.device_activity_count as comparison_device_activity_count,
        comparison.device_duration_ns as comparison_device_duration_ns,
        base.parent_operator_index is null and comparison.parent_operator_index is null as is_outermost,
        greatest(base.device_activity_count, comparison.device_activity_count)
        > getvariable('max_kernel_num')::bigint
            as is_large,
        coalesce(base.device_activity_count > base.self_activity_count, false)
        or coalesce(comparison.device_activity_count > comparison.self_activity_count, false) as has_inside,
        coalesce(base.self_activity_count > 0, false)
        or coalesce(comparison.self_activity_count > 0, false) as has_own,
        greatest(base_parent.device_activity_count, comparison_parent.device_activity_count)
        > getvariable('max_kernel_num')::bigint as is_parent_large
    from intermediate.int_alignment as alignment
    left join intermediate.int_operator_call as base
        on alignment.base_run_id = base.run_id and alignment.base_node = base.event_index
    left join staging.stg_operator_input as base_input
        on alignment.base_run_id = base_input.run_id and alignment.base_node = base_input.event_index
    left join intermediate.int_operator_call as comparison
        on alignment.comparison_run_id = comparison.run_id and alignment.comparison_node = comparison.event_index
    left join staging.stg_operator_input as comparison_input
        on
            alignment.comparison_run_id = comparison_input.run_id
            and alignment.comparison_node = comparison_input.event_index
    left join intermediate.int_operator_call as base_parent
        on
            alignment.base_run_id = base_parent.run_id
            and alignment.base_parent_node = base_parent.event_index
            and getvariable('max_kernel_num')::bigint is not null
    left join intermediate.int_operator_call as comparison_parent
        on
            alignment.comparison_run_id = comparison_parent.run_id
            and alignment.comparison_parent_node = comparison_parent.event_index
            and getvariable('max_kernel_num')::bigint is not null
    where alignment.tree = 'operator'
),

opened as (
    select *, coalesce(is_large and has_inside, false) as is_opened
    from pair
)

select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    alignment_order as row_order,
    base_node as base_index,
    comparison_node as comparison_index,
    is_opened,
    (not is_opened or has_own)
    and coalesce(is_parent_large, base_parent_node is null and comparison_parent_node is null) as is_shown,
    is_outermost,
    base_operator_name,
    base_input_shapes,
    base_input_types,
    case when is_opened then base_self_activity_count else base_device_activity_count end as base_device_activity_count,
    case when is_opened then base_self_device_duration_ns else base_device_duration_ns end as base_device_duration_ns,
    comparison_operator_name,
    comparison_input_shapes,
    comparison_input_types,
    case when is_opened then comparison_self_activity_count else comparison_device_activity_count end
        as comparison_device_activity_count,
    case when is_opened then comparison_self_device_duration_ns else comparison_device_duration_ns end
        as comparison_device_duration_ns
from opened
