-- What the profiler's own Overlap Analysis found for the whole run: one row per run that has it, of one device.
--
-- Its tracks have intervals that do not overlap one another, so that their durations sum to lengths of unions.
--
-- @title Overlap Analysis
-- @grain run_id
-- @order run_id
-- @column run_id id Run
-- @column e2e_ns duration_ns From the first start to the last end
-- @column compute_ns duration_ns Computing
-- @column communication_ns duration_ns Communication
-- @column uncovered_ns duration_ns Communication(Not Overlapped)
-- @column free_ns duration_ns Free
-- @column interval_count count Intervals of all tracks
select
    run_id,
    max(end_ns) - min(start_ns) as e2e_ns,
    coalesce(sum(duration_ns) filter (where thread_name = 'Computing'), 0)::bigint as compute_ns,
    coalesce(sum(duration_ns) filter (where thread_name = 'Communication'), 0)::bigint as communication_ns,
    coalesce(sum(duration_ns) filter (where thread_name = 'Communication(Not Overlapped)'), 0)::bigint as uncovered_ns,
    coalesce(sum(duration_ns) filter (where thread_name = 'Free'), 0)::bigint as free_ns,
    count(*) as interval_count
from intermediate.int_track_event
where track = 'overlap' and duration_ns >= 0
group by run_id
having count(distinct pid) = 1
