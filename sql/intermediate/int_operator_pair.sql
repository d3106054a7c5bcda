-- Pairs of operator calls as comparisons in detail show them: one row per pair of scopes and pair of calls, or call that the other side lacks.
--
-- With the variable `max_kernel_num` a pair that launched more device activities than that, on either side, is opened into
-- the operators inside; it keeps a row for what it launched itself.
--
-- @title Pairs of operator calls
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column row_order id Place of the pair
-- @column base_index id Operator call of the base, its place in the file
-- @column comparison_index id Operator call of the comparison, its place in the file
-- @column is_opened flag Do the operators inside have rows of their own?
-- @column is_shown flag Has it a row of its own?
with
pair as (
    select
        alignment.*,
        base.event_index as base_index,
        comparison.event_index as comparison_index,
        greatest(base.device_activity_count, comparison.device_activity_count) > cast(getvariable('max_kernel_num') as bigint)
            as is_large,
        coalesce(base.device_activity_count > base.self_activity_count, false)
        or coalesce(comparison.device_activity_count > comparison.self_activity_count, false) as has_inside,
        coalesce(base.self_activity_count > 0, false)
        or coalesce(comparison.self_activity_count > 0, false) as has_own,
        greatest(base_parent.device_activity_count, comparison_parent.device_activity_count)
        > cast(getvariable('max_kernel_num') as bigint) as is_parent_large
    from intermediate.int_operator_alignment as alignment
    left join intermediate.int_operator_sequence as base
        on
            alignment.base_run_id = base.run_id
            and alignment.base_step is not distinct from base.step
            and alignment.base_place = base.place
    left join intermediate.int_operator_sequence as comparison
        on
            alignment.comparison_run_id = comparison.run_id
            and alignment.comparison_step is not distinct from comparison.step
            and alignment.comparison_place = comparison.place
    left join intermediate.int_operator_sequence as base_parent
        on
            alignment.base_run_id = base_parent.run_id
            and alignment.base_step is not distinct from base_parent.step
            and alignment.base_parent_place = base_parent.place
    left join intermediate.int_operator_sequence as comparison_parent
        on
            alignment.comparison_run_id = comparison_parent.run_id
            and alignment.comparison_step is not distinct from comparison_parent.step
            and alignment.comparison_parent_place = comparison_parent.place
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
    base_index,
    comparison_index,
    is_opened,
    (not is_opened or has_own)
    and coalesce(is_parent_large, base_parent_place is null and comparison_parent_place is null) as is_shown
from opened
