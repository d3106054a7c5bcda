-- Where the time of a device went: one row per run, step, device and metric; the metrics form a tree.
--
-- E2E Time = Computing Time + Uncovered Communication Time + Free Time, and Free Time = SDMA + Free, exactly. E2E Time is
-- from the first start to the last end of device activities. Computing Time is split over classes of kernels: where
-- kernels overlap, the time counts for the one that started first, so that the classes sum to it, too. Communication Time
-- = Uncovered Communication Time + Overlapped Communication. A run without device activities has one row per metric of
-- the split, with no duration. Where an Ascend profiler wrote an Overlap Analysis, E2E Time and the parts of the whole run
-- are its own; it rounds each interval, so that the classes sum to its Computing Time within a nanosecond an interval.
--
-- @title Overall metrics
-- @grain run_id, step, device, metric
-- @order run_id, step, device, metric_order
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device; NULL without device activities
-- @column device_ordinal id Place of the device among the run's devices, from 0
-- @column metric name Metric
-- @column parent_metric name Metric that it is a part of
-- @column depth depth Depth in the tree
-- @column is_part flag Is it one of the parts that E2E Time is the sum of?
-- @column metric_order id Place in the tree, as a path: the same for a metric in every run
-- @column duration_ns duration_ns Time
-- @column share_of_e2e share Part of E2E Time
-- @column call_count count Activities that it stands for
-- @column total_duration_ns duration_ns Sum of their durations, overlaps counted each time
with
counted as (
    select
        run_id,
        step,
        device,
        max(end_ns) - min(start_ns) as e2e_ns,
        sum(compute_part_ns)::bigint as compute_ns,
        sum(communication_part_ns)::bigint as communication_ns,
        sum(busy_part_ns)::bigint as busy_ns,
        sum(active_part_ns)::bigint as active_ns,
        count(*) filter (where activity_class = 'compute') as compute_count,
        count(*) filter (where activity_class = 'communication') as communication_count,
        count(*) filter (where activity_class = 'copy') as copy_count,
        sum(end_ns - start_ns) filter (where activity_class = 'compute')::bigint as compute_total_ns,
        sum(end_ns - start_ns) filter (where activity_class = 'communication')::bigint as communication_total_ns,
        sum(end_ns - start_ns) filter (where activity_class = 'copy')::bigint as copy_total_ns
    from intermediate.int_device_time
    group by run_id, step, device
),

device as (
    select
        counted.* replace (
            coalesce(overlap.e2e_ns, counted.e2e_ns) as e2e_ns,
            coalesce(overlap.compute_ns, counted.compute_ns) as compute_ns,
            coalesce(overlap.communication_ns, counted.communication_ns) as communication_ns,
            coalesce(overlap.compute_ns + overlap.uncovered_ns, counted.busy_ns) as busy_ns,
            coalesce(
                least(overlap.compute_ns + overlap.uncovered_ns + counted.active_ns - counted.busy_ns, overlap.e2e_ns),
                counted.active_ns
            ) as active_ns
        )
    from counted
    left join intermediate.int_overlap as overlap on counted.run_id = overlap.run_id and counted.step is null
),

split as (
    select
        run_id,
        step,
        device,
        e2e_ns,
        unnest([
            {'metric': 'E2E Time', 'parent': null, 'depth': 0, 'place': '0', 'ns': e2e_ns,
             'n': compute_count + communication_count + copy_count, 'total': null},
            {'metric': 'Computing Time', 'parent': 'E2E Time', 'depth': 1, 'place': '1', 'ns': compute_ns,
             'n': compute_count, 'total': compute_total_ns},
            {'metric': 'Uncovered Communication Time', 'parent': 'E2E Time', 'depth': 1, 'place': '2',
             'ns': busy_ns - compute_ns, 'n': communication_count, 'total': communication_total_ns},
            {'metric': 'Free Time', 'parent': 'E2E Time', 'depth': 1, 'place': '3', 'ns': e2e_ns - busy_ns,
             'n': null, 'total': null},
            {'metric': 'SDMA', 'parent': 'Free Time', 'depth': 2, 'place': '31', 'ns': active_ns - busy_ns,
             'n': copy_count, 'total': copy_total_ns},
            {'metric': 'Free', 'parent': 'Free Time', 'depth': 2, 'place': '32', 'ns': e2e_ns - active_ns,
             'n': null, 'total': null},
            {'metric': 'Communication Time', 'parent': null, 'depth': 0, 'place': '4', 'ns': communication_ns,
             'n': communication_count, 'total': communication_total_ns},
            {'metric': 'Overlapped Communication', 'parent': 'Communication Time', 'depth': 1, 'place': '41',
             'ns': communication_ns - (busy_ns - compute_ns), 'n': null, 'total': null}
        ], recursive := true)
    from device
),

class as (
    select
        run_id,
        step,
        device,
        kernel_class,
        case when grouping(detail) = 0 then detail end as detail,
        sum(compute_part_ns)::bigint as ns,
        count(*) as n,
        sum(end_ns - start_ns)::bigint as total
    from (
        select
            *,
            case
                when kernel_class in ('Flash Attention', 'Conv')
                    then case when is_backward then 'Backward, ' else 'Forward, ' end || kernel_unit
                else kernel_unit
            end as detail
        from intermediate.int_device_time
        where activity_class = 'compute'
    )
    group by grouping sets ((run_id, step, device, kernel_class), (run_id, step, device, kernel_class, detail))
    having grouping(detail) = 1 or detail is not null
),

metric as (
    select run_id, step, device, metric, parent as parent_metric, depth, place, ns, n, total from split
    union all
    select
        run_id,
        step,
        device,
        kernel_class || coalesce(' (' || detail || ')', '') as metric,
        case when detail is null then 'Computing Time' else kernel_class end as parent_metric,
        case when detail is null then 2 else 3 end as depth,
        '1 ' || kernel_class || coalesce(' ' || detail, '') as place,
        ns,
        n,
        total
    from class
    union all
    select run_id, null, null, unnest(['E2E Time', 'Computing Time', 'Uncovered Communication Time', 'Free Time', 'SDMA', 'Free']),
        unnest([null, 'E2E Time', 'E2E Time', 'E2E Time', 'Free Time', 'Free Time']), unnest([0, 1, 1, 1, 2, 2]),
        unnest(['0', '1', '2', '3', '31', '32']), null, null, null
    from intermediate.int_run_size
    where device_activity_count = 0
)

select
    metric.run_id,
    metric.step,
    metric.device,
    dense_rank() over (partition by metric.run_id order by metric.device) - 1 as device_ordinal,
    metric.metric,
    metric.parent_metric,
    metric.depth::integer as depth,
    metric.metric in ('Computing Time', 'Uncovered Communication Time', 'SDMA', 'Free') as is_part,
    metric.place as metric_order,
    metric.ns as duration_ns,
    metric.ns / nullif(device.e2e_ns, 0)::double as share_of_e2e,
    metric.n as call_count,
    metric.total as total_duration_ns
from metric
left join device
    on
        metric.run_id = device.run_id
        and metric.step is not distinct from device.step
        and metric.device is not distinct from device.device
