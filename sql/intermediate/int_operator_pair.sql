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
        base.parent_place as base_parent_place,
        comparison.parent_place as comparison_parent_place,
        greatest(base_call.device_activity_count, comparison_call.device_activity_count)
        > cast(getvariable('max_kernel_num') as bigint) as is_large,
        coalesce(base_call.device_activity_count > base_call.self_activity_count, false)
        or coalesce(comparison_call.device_activity_count > comparison_call.self_activity_count, false) as has_inside,
        coalesce(base_call.self_activity_count > 0, false)
        or coalesce(comparison_call.self_activity_count > 0, false) as has_own
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
    left join intermediate.int_operator_call as base_call
        on alignment.base_run_id = base_call.run_id and base.event_index = base_call.event_index
    left join intermediate.int_operator_call as comparison_call
        on alignment.comparison_run_id = comparison_call.run_id and comparison.event_index = comparison_call.event_index
),

opened as (
    select *, coalesce(is_large and has_inside, false) as is_opened
    from pair
)

select
    opened.base_run_id,
    opened.base_step,
    opened.comparison_run_id,
    opened.comparison_step,
    opened.alignment_order as row_order,
    opened.base_index,
    opened.comparison_index,
    opened.is_opened,
    (not opened.is_opened or opened.has_own)
    and coalesce(
        base_parent.is_opened,
        comparison_parent.is_opened,
        opened.base_parent_place is null and opened.comparison_parent_place is null
    ) as is_shown
from opened
left join opened as base_parent
    on
        opened.base_run_id = base_parent.base_run_id
        and opened.base_step is not distinct from base_parent.base_step
        and opened.comparison_run_id = base_parent.comparison_run_id
        and opened.comparison_step is not distinct from base_parent.comparison_step
        and opened.base_parent_place = base_parent.base_place
left join opened as comparison_parent
    on
        opened.base_run_id = comparison_parent.base_run_id
        and opened.base_step is not distinct from comparison_parent.base_step
        and opened.comparison_run_id = comparison_parent.comparison_run_id
        and opened.comparison_step is not distinct from comparison_parent.comparison_step
        and opened.comparison_parent_place = comparison_parent.comparison_place
