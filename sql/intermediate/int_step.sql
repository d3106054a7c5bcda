-- Steps of a run: one row per step number, from its markers on the host and on device tracks.
--
-- @title Steps
-- @grain run_id, step
-- @order run_id, step
-- @materialized
-- @column run_id id Run that the step belongs to
-- @column step id Number of the step
-- @column start_ns timestamp_ns Start of the host marker
-- @column end_ns timestamp_ns End of the host marker
-- @column device_start_ns timestamp_ns Start of the marker's copy on a device track
-- @column device_end_ns timestamp_ns End of the marker's copy on a device track
select
    run_id,
    step,
    min(start_ns) filter (where not on_device) as start_ns,
    max(start_ns + duration_ns) filter (where not on_device) as end_ns,
    min(start_ns) filter (where on_device) as device_start_ns,
    max(start_ns + duration_ns) filter (where on_device) as device_end_ns
from staging.stg_step_marker
where step is not null
group by run_id, step
