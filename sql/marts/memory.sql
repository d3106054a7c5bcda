-- Device memory by operator: one row per run, step, device and operator that allocated.
--
-- An allocation belongs to the innermost operator open on its thread.
--
-- @title Memory
-- @grain run_id, step, device, operator_name
-- @order run_id, step, allocated_bytes desc, operator_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device
-- @column operator_name name Innermost operator, or `(no operator)`
-- @column allocation_count count Allocations
-- @column allocated_bytes bytes Sum of their sizes
-- @column max_allocation_bytes bytes Largest allocation
-- @column released_count count Allocations freed within the recording; NULL if none has an address
-- @column held_duration_ns duration_ns Sum of the times from allocation to free
select
    run_id,
    step,
    device,
    operator_name,
    count(*) as allocation_count,
    sum(bytes)::bigint as allocated_bytes,
    max(bytes) as max_allocation_bytes,
    case when count(is_allocated_twice) > 0 then count(held_ns) end as released_count,
    sum(held_ns)::bigint as held_duration_ns
from intermediate.int_allocation
where bytes > 0
group by
    grouping sets (
        (run_id, device, operator_name),
        (run_id, step, device, operator_name)
    )
having grouping(step) = 1 or step is not null
