-- Figures of the profiler's own Overlap Analysis, of the whole run: one row per run that has one, and device.
--
-- The intervals of a track do not overlap, so their durations sum to the length of a union. The name of the track or of
-- the interval says what it is; intervals for which neither does are ignored.
--
-- @title Overlap Analysis
-- @grain run_id, device
-- @order run_id, device
-- @column run_id id Run
-- @column device id Device
-- @column e2e_ns duration_ns From the first start to the last end
-- @column compute_ns duration_ns Computing
-- @column communication_ns duration_ns Communication
-- @column uncovered_ns duration_ns Communication that computing does not overlap
-- @column free_ns duration_ns Free
-- @column interval_count count Intervals of all tracks
with
interval as (
    select
        * exclude (event_name, thread_name),
        case when thread_name in kinds then thread_name when event_name in kinds then event_name end as kind
    from (
        select *, ['Computing', 'Communication', 'Communication(Not Overlapped)', 'Free'] as kinds
        from intermediate.int_track_event
        where track = 'overlap' and duration_ns >= 0
    )
)

select
    run_id,
    device,
    max(end_ns) - min(start_ns) as e2e_ns,
    coalesce(sum(duration_ns) filter (where kind = 'Computing'), 0)::bigint as compute_ns,
    coalesce(sum(duration_ns) filter (where kind = 'Communication'), 0)::bigint as communication_ns,
    coalesce(sum(duration_ns) filter (where kind = 'Communication(Not Overlapped)'), 0)::bigint as uncovered_ns,
    coalesce(sum(duration_ns) filter (where kind = 'Free'), 0)::bigint as free_ns,
    count(*) as interval_count
from interval
where kind is not null
group by run_id, device
