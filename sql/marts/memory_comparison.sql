-- Device memory by operator of two runs side by side: one row per pair of scopes and operator.
--
-- A missing side counts as nothing in a difference. Devices of a run are summed: `marts.memory` has them.
--
-- @title Memory
-- @sheet MemoryCompareStatistic
-- @position 70
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, operator_name
-- @order diff_allocated_bytes desc, operator_name
-- @rank diff_allocated_bytes
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column operator_name name Innermost operator that allocated
-- @column base_allocated_bytes bytes Allocated, base
-- @column base_allocation_count count Allocations, base
-- @column base_max_allocation_bytes bytes Largest allocation, base
-- @column base_held_duration_ns duration_ns Time until the free, summed, base
-- @column comparison_allocated_bytes bytes Allocated, comparison
-- @column comparison_allocation_count count Allocations, comparison
-- @column comparison_max_allocation_bytes bytes Largest allocation, comparison
-- @column comparison_held_duration_ns duration_ns Time until the free, summed, comparison
-- @column diff_allocated_bytes bytes Allocated, comparison − base
-- @column diff_allocation_count count Allocations, comparison − base
-- @column diff_held_duration_ns duration_ns Time until the free, summed, comparison − base
-- @column ratio_allocated_bytes ratio Allocated, comparison / base
with
entry as (
    select
        run_id,
        step,
        operator_name,
        sum(allocation_count)::bigint as allocation_count,
        sum(allocated_bytes)::bigint as allocated_bytes,
        max(max_allocation_bytes) as max_allocation_bytes,
        sum(held_duration_ns)::bigint as held_duration_ns
    from marts.memory
    group by run_id, step, operator_name
),

either as (
    select
        pair.*,
        entry.operator_name
    from intermediate.int_scope_pair as pair
    inner join entry as entry
        on pair.base_run_id = entry.run_id and pair.base_step is not distinct from entry.step
    union
    select
        pair.*,
        entry.operator_name
    from intermediate.int_scope_pair as pair
    inner join entry as entry
        on pair.comparison_run_id = entry.run_id and pair.comparison_step is not distinct from entry.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.operator_name,
    base.allocated_bytes as base_allocated_bytes,
    base.allocation_count as base_allocation_count,
    base.max_allocation_bytes as base_max_allocation_bytes,
    base.held_duration_ns as base_held_duration_ns,
    comparison.allocated_bytes as comparison_allocated_bytes,
    comparison.allocation_count as comparison_allocation_count,
    comparison.max_allocation_bytes as comparison_max_allocation_bytes,
    comparison.held_duration_ns as comparison_held_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.allocated_bytes) - macros.or_nothing(base.run_id, base.allocated_bytes) as diff_allocated_bytes,
    macros.or_nothing(comparison.run_id, comparison.allocation_count) - macros.or_nothing(base.run_id, base.allocation_count) as diff_allocation_count,
    macros.or_nothing(comparison.run_id, comparison.held_duration_ns) - macros.or_nothing(base.run_id, base.held_duration_ns) as diff_held_duration_ns,
    macros.ratio(base.allocated_bytes, comparison.allocated_bytes) as ratio_allocated_bytes
from either
left join entry as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.operator_name is not distinct from base.operator_name
left join entry as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.operator_name is not distinct from comparison.operator_name
