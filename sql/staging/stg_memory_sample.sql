-- Samples of device memory as recorded: one row per sample and component of the software.
--
-- @title Memory samples as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the sample belongs to
-- @column event_index id Position of the row in the run
-- @column component category Who holds the memory: PTA (framework), GE (CANN), APP (process) or WORKSPACE
-- @column device id Device
-- @column time_ns timestamp_ns Time of the sample
-- @column total_allocated_bytes bytes Allocated
-- @column total_reserved_bytes bytes Reserved
select
    run_id,
    event_index,
    component,
    device,
    time_ns,
    total_allocated as total_allocated_bytes,
    total_reserved as total_reserved_bytes
from raw.memory_sample
