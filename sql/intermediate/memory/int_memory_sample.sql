-- Samples of device memory with their step: one row per sample and component of the software.
--
-- The step is the one whose host marker is open at the time.
--
-- @title Memory samples
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the row in the run
-- @column component category Who holds the memory: PTA (framework), GE (CANN), APP (process) or WORKSPACE
-- @column step id Step that it was taken in
-- @column device id Device
-- @column time_ns timestamp_ns Time of the sample
-- @column total_allocated_bytes bytes Allocated
-- @column total_reserved_bytes bytes Reserved
with
marker as (
    select run_id, step, start_ns, end_ns
    from intermediate.int_step
    where start_ns is not null
)

select
    sample.run_id,
    sample.event_index,
    sample.component,
    case when sample.time_ns < marker.end_ns then marker.step end as step,
    coalesce(sample.device, 0) as device,
    sample.time_ns,
    sample.total_allocated_bytes,
    sample.total_reserved_bytes
from staging.stg_memory_sample as sample
asof left join marker
    on sample.run_id = marker.run_id and sample.time_ns >= marker.start_ns
