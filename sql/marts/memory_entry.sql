-- Device memory by operator, summed over devices: one row per run, step and operator.
--
-- `marts.memory` has each device.
--
-- @title Memory
-- @grain run_id, step, operator_name
-- @order run_id, step, allocated_bytes desc, operator_name
-- @sheet MemoryCompareStatistic
-- @position 70
-- @comparison memory_comparison
-- @key operator_name
-- @measure allocated_bytes sum, difference, ratio, rank
-- @measure allocation_count sum, difference
-- @measure max_allocation_bytes longest
-- @measure held_duration_ns sum, difference
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column operator_name name Innermost operator that allocated
-- @column allocated_bytes bytes Bytes allocated
-- @column allocation_count count Allocations
-- @column max_allocation_bytes bytes Largest allocation
-- @column held_duration_ns duration_ns Sum of the times from allocation to free
select
    run_id,
    step,
    operator_name,
    sum(allocated_bytes)::bigint as allocated_bytes,
    sum(allocation_count)::bigint as allocation_count,
    max(max_allocation_bytes) as max_allocation_bytes,
    sum(held_duration_ns)::bigint as held_duration_ns
from marts.memory
group by run_id, step, operator_name
