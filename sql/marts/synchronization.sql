-- Waits on device tracks: one row per run, device, stream and kind of synchronisation.
--
-- Waits are not device activities: no figure of device time counts them.
--
-- @title Synchronisation
-- @grain run_id, device, stream, synchronization_name
-- @order run_id, total_duration_ns desc, synchronization_name
-- @materialized
-- @column run_id id Run
-- @column device id Device
-- @column stream id Stream; −1 for all streams of a context
-- @column synchronization_name name Kind of wait
-- @column call_count count Records
-- @column total_duration_ns duration_ns Sum of durations
select
    run_id,
    device,
    stream,
    synchronization_name,
    count(*) as call_count,
    sum(duration_ns)::bigint as total_duration_ns
from staging.stg_synchronization
group by run_id, device, stream, synchronization_name
