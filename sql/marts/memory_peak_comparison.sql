-- Peaks of device memory of two runs side by side: one row per pair of scopes and device.
--
-- Devices are matched by their place among the run's devices.
--
-- @title Memory peak
-- @sheet MemoryPeakCompare
-- @position 30
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal
-- @order device_ordinal
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column device_ordinal id Place of the device among the run's devices, from 0
-- @column base_peak_reserved_bytes bytes Most reserved by the allocator, base
-- @column base_peak_allocated_bytes bytes Most allocated, base
-- @column comparison_peak_reserved_bytes bytes Most reserved by the allocator, comparison
-- @column comparison_peak_allocated_bytes bytes Most allocated, comparison
-- @column diff_peak_reserved_bytes bytes Most reserved by the allocator, comparison − base
-- @column diff_peak_allocated_bytes bytes Most allocated, comparison − base
-- @column ratio_peak_reserved_bytes ratio Most reserved by the allocator, comparison / base
-- @column ratio_peak_allocated_bytes ratio Most allocated, comparison / base
with
either as (
    select
        pair.*,
        entry.device_ordinal
    from intermediate.int_scope_pair as pair
    inner join marts.memory_peak as entry
        on pair.base_run_id = entry.run_id and pair.base_step is not distinct from entry.step
    union
    select
        pair.*,
        entry.device_ordinal
    from intermediate.int_scope_pair as pair
    inner join marts.memory_peak as entry
        on pair.comparison_run_id = entry.run_id and pair.comparison_step is not distinct from entry.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.device_ordinal,
    base.peak_reserved_bytes as base_peak_reserved_bytes,
    base.peak_allocated_bytes as base_peak_allocated_bytes,
    comparison.peak_reserved_bytes as comparison_peak_reserved_bytes,
    comparison.peak_allocated_bytes as comparison_peak_allocated_bytes,
    comparison.peak_reserved_bytes - base.peak_reserved_bytes as diff_peak_reserved_bytes,
    comparison.peak_allocated_bytes - base.peak_allocated_bytes as diff_peak_allocated_bytes,
    macros.ratio(base.peak_reserved_bytes, comparison.peak_reserved_bytes) as ratio_peak_reserved_bytes,
    macros.ratio(base.peak_allocated_bytes, comparison.peak_allocated_bytes) as ratio_peak_allocated_bytes
from either
left join marts.memory_peak as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.device_ordinal is not distinct from base.device_ordinal
left join marts.memory_peak as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.device_ordinal is not distinct from comparison.device_ordinal
