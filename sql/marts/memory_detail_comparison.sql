-- Memory that operator calls of two runs allocated, paired one by one: one row per pair of scopes and pair of calls, if
-- either allocated.
--
-- Calls pair as in `marts.operator_detail_comparison`, outermost operators only. An allocation counts for the outermost
-- operator open on its thread. A missing side counts as 0 in a difference.
--
-- @title Memory, call by call
-- @sheet MemoryCompare
-- @position 72
-- @detail
-- @requires memory_event_count
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order row_order
-- @rank diff_allocated_bytes
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column row_order id Position of the row
-- @column base_operator_name name Operator, base
-- @column base_input_shapes text Shapes of its inputs, base
-- @column base_input_types text Types of its inputs, base
-- @column base_allocations text Allocations: operator, bytes, nanoseconds until the free, base
-- @column base_allocated_bytes bytes Sum of their sizes, base
-- @column comparison_operator_name name Operator, comparison
-- @column comparison_input_shapes text Shapes of its inputs, comparison
-- @column comparison_input_types text Types of its inputs, comparison
-- @column comparison_allocations text Allocations: operator, bytes, nanoseconds until the free, comparison
-- @column comparison_allocated_bytes bytes Sum of their sizes, comparison
-- @column diff_allocated_bytes bytes Allocated, comparison − base
-- @column ratio_allocated_bytes ratio Allocated, comparison / base
with
entry as (
    select
        pair.*,
        base_memory.allocations as base_allocations,
        case
            when
                pair.base_index is not null and base_size.memory_event_count > 0
                then coalesce(base_memory.allocated_bytes, 0)
        end as base_allocated_bytes,
        case when pair.base_index is not null then pair.base_run_id end as base_id,
        comparison_memory.allocations as comparison_allocations,
        case
            when
                pair.comparison_index is not null and comparison_size.memory_event_count > 0
                then coalesce(comparison_memory.allocated_bytes, 0)
        end as comparison_allocated_bytes,
        case when pair.comparison_index is not null then pair.comparison_run_id end as comparison_id
    from intermediate.int_operator_pair as pair
    left join intermediate.int_operator_memory as base_memory
        on pair.base_run_id = base_memory.run_id and pair.base_index = base_memory.event_index
    left join intermediate.int_run_size as base_size on pair.base_run_id = base_size.run_id
    left join intermediate.int_operator_memory as comparison_memory
        on pair.comparison_run_id = comparison_memory.run_id and pair.comparison_index = comparison_memory.event_index
    left join intermediate.int_run_size as comparison_size on pair.comparison_run_id = comparison_size.run_id
    where pair.is_outermost and (base_memory.run_id is not null or comparison_memory.run_id is not null)
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
    base_allocations,
    base_allocated_bytes,
    comparison_operator_name,
    comparison_input_shapes,
    comparison_input_types,
    comparison_allocations,
    comparison_allocated_bytes,
    macros.or_nothing(comparison_id, comparison_allocated_bytes)
    - macros.or_nothing(base_id, base_allocated_bytes) as diff_allocated_bytes,
    macros.ratio(base_allocated_bytes, comparison_allocated_bytes) as ratio_allocated_bytes
from entry
