-- The profiler's own Overlap Analysis checked against the activities: one row per run, device and metric, of Ascend
-- traces that have both.
--
-- The analysis rounds each interval to the nanosecond, so the two may differ by a nanosecond per interval or activity.
-- A larger difference means that the trace lacks activities, or that the analysis comes from other ones.
--
-- @title Overlap Analysis check
-- @grain run_id, device, metric
-- @order run_id, device, metric
-- @materialized
-- @column run_id id Run
-- @column device id Device
-- @column metric name Metric
-- @column recorded_duration_ns duration_ns According to the Overlap Analysis
-- @column computed_duration_ns duration_ns Computed from the activities
-- @column difference_ns duration_ns Absolute difference
-- @column rounding_ns duration_ns Largest difference that rounding alone explains
-- @column agrees flag Is the difference within rounding?
with
computed as (
    select
        run_id,
        device,
        max(end_ns) - min(start_ns) as e2e_ns,
        sum(compute_part_ns)::bigint as compute_ns,
        sum(communication_part_ns)::bigint as communication_ns,
        sum(busy_part_ns)::bigint as busy_ns,
        count(*) as activity_count
    from intermediate.int_device_time
    where step is null
    group by run_id, device
),

metric as (
    select
        run_id,
        device,
        overlap.interval_count + computed.activity_count as rounding_ns,
        unnest([
            {'metric': 'E2E Time', 'recorded': overlap.e2e_ns, 'computed': computed.e2e_ns},
            {'metric': 'Computing Time', 'recorded': overlap.compute_ns, 'computed': computed.compute_ns},
            {
                'metric': 'Communication Time', 'recorded': overlap.communication_ns,
                'computed': computed.communication_ns
            },
            {
                'metric': 'Uncovered Communication Time', 'recorded': overlap.uncovered_ns,
                'computed': busy_ns - computed.compute_ns
            },
            {'metric': 'Free Time', 'recorded': overlap.free_ns, 'computed': computed.e2e_ns - busy_ns}
        ], recursive := true)
    from intermediate.int_overlap as overlap
    inner join computed using (run_id, device)
)

select
    run_id,
    device,
    metric,
    recorded as recorded_duration_ns,
    computed as computed_duration_ns,
    abs(recorded - computed) as difference_ns,
    rounding_ns,
    abs(recorded - computed) <= rounding_ns as agrees
from metric
