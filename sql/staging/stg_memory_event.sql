-- Memory events of a device: one row per allocation or free recorded by the framework's allocator.
--
-- Events of the host's allocator (device type 0, the CPU) are left out.
--
-- @title Memory events as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the event belongs to
-- @column event_index id Position of the event in the file
-- @column pid id Process
-- @column tid id Thread that allocated or freed
-- @column device id Device
-- @column time_ns timestamp_ns Time of the event
-- @column bytes bytes Allocated (above zero) or freed (below zero)
-- @column address id Address of the block; NULL if not recorded, or 0
-- @column total_allocated_bytes bytes Allocated on the device after the event
-- @column total_reserved_bytes bytes Reserved by the allocator after the event
select
    run_id,
    event_index,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    device,
    start_ns as time_ns,
    bytes,
    nullif(address, 0) as address,
    total_allocated as total_allocated_bytes,
    total_reserved as total_reserved_bytes
from raw.event
where
    name = '[memory]'
    and phase in ('i', 'I')
    and start_ns is not null
    and bytes is not null
    and coalesce(device_type, 1) <> 0
    and device >= 0
