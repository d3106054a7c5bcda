-- Allocations of device memory with their release, as recorded: one row per allocation.
--
-- Ascend profilers write an allocation and its release as one row. Traces of other devices have separate events, in
-- `stg_memory_event`.
--
-- @title Allocations as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the allocation belongs to
-- @column event_index id Position of the row in the run
-- @column operator_name name Operator that allocated; one of CANN has the prefix cann::
-- @column device id Device
-- @column time_ns timestamp_ns Time of the allocation
-- @column bytes bytes Size
-- @column held_ns duration_ns Time until the release; NULL if it is not released in the recording
-- @column total_allocated_bytes bytes Allocated on the device after the allocation
-- @column total_reserved_bytes bytes Reserved by the allocator after the allocation
select
    run_id,
    event_index,
    operator_name,
    device,
    allocated_at_ns as time_ns,
    bytes,
    coalesce(held_ns, released_at_ns - allocated_at_ns) as held_ns,
    total_allocated as total_allocated_bytes,
    total_reserved as total_reserved_bytes
from raw.allocation
where allocated_at_ns is not null and bytes > 0
