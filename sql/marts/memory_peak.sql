-- Peaks of device memory: one row per run, step and device with memory events.
--
-- Peaks are taken over the totals that the allocator reports after each event. On Ascend devices they also cover the
-- samples of all components (framework, CANN, process), so the reserved peak is the memory in use. Events that do not
-- pair up are counted among those with an address; the counts are NULL if none has one.
--
-- @title Memory peak
-- @grain run_id, step, device
-- @order run_id, step, device
-- @materialized
-- @sheet MemoryPeakCompare
-- @position 30
-- @comparison memory_peak_comparison
-- @key device_ordinal
-- @measure peak_reserved_bytes longest, difference, ratio
-- @measure peak_allocated_bytes longest, difference, ratio
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device
-- @column device_ordinal id Position of the device among the run's devices, from 0
-- @column peak_allocated_bytes bytes Peak of allocated memory
-- @column peak_reserved_bytes bytes Peak of memory that the allocator reserved
-- @column allocation_count count Allocations
-- @column free_count count Frees
-- @column unmatched_free_count count Frees of blocks allocated before the recording
-- @column allocated_twice_count count Allocations whose address is allocated again before it is freed
select
    run_id,
    step,
    device,
    dense_rank() over (partition by run_id order by device) - 1 as device_ordinal,
    max(total_allocated_bytes) as peak_allocated_bytes,
    max(total_reserved_bytes) as peak_reserved_bytes,
    count(*) filter (where bytes > 0) as allocation_count,
    count(*) filter (where bytes < 0) as free_count,
    case
        when count(is_unmatched_free) filter (where bytes < 0) > 0 or count(*) filter (where bytes < 0) = 0
            then count(*) filter (where is_unmatched_free)
    end as unmatched_free_count,
    case
        when count(is_allocated_twice) filter (where bytes > 0) > 0 or count(*) filter (where bytes > 0) = 0
            then count(*) filter (where is_allocated_twice)
    end as allocated_twice_count
from (
    select
        run_id, step, device, bytes, is_unmatched_free, is_allocated_twice, total_allocated_bytes, total_reserved_bytes
    from intermediate.int_allocation
    union all by name
    select run_id, step, device, total_allocated_bytes, total_reserved_bytes
    from intermediate.int_memory_sample
)
group by
    grouping sets (
        (run_id, device),
        (run_id, step, device)
    )
having grouping(step) = 1 or step is not null
