-- Steps of a run: one row per step number, taken from markers on the host or their copies on device tracks.
--
-- @title Steps
-- @grain run_id, step
-- @order run_id, step
-- @materialized
-- @column run_id id Run that the step belongs to
-- @column step id Number of the step
-- @column start_ns timestamp_ns Start of the host marker
-- @column end_ns timestamp_ns End of the host marker
select
    run_id,
    step,
    min(start_ns) filter (where not on_device) as start_ns,
    max(start_ns + duration_ns) filter (where not on_device) as end_ns
from staging.stg_step_marker
where step is not null
group by run_id, step
