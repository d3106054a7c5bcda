-- Where the time of a device went: one row per run, step, device and metric; the metrics form a tree.
--
-- E2E Time = Computing Time + Uncovered Communication Time + Free Time, and Free Time = SDMA + Free, exactly. E2E Time is
-- from the first start to the last end of device activities. Computing Time is split over classes of kernels: where
-- kernels overlap, the time counts for the one that started first, so that the classes sum to it, too. Communication Time
-- = Uncovered Communication Time + Overlapped Communication. On Ascend devices Uncovered Communication Time is shown by process
-- group, too, as waiting and transmitting: Group … sum to it and Overlap of Groups. A run without device activities has one row per metric of
-- the split, with no duration. Where an Ascend profiler wrote an Overlap Analysis of the device, E2E Time and the parts of the whole run
-- are its own, also where the trace has no activities; it rounds each interval, so that the classes sum to its Computing Time within a nanosecond an interval. Tables of
-- kernels without a trace do not tell copies: SDMA and Free are not known then.
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
            case
                when size.has_timeline
                    then coalesce(
                        least(overlap.compute_ns + overlap.uncovered_ns + counted.active_ns - counted.busy_ns, overlap.e2e_ns),
                        counted.active_ns
                    )
            end as active_ns,
            case when size.has_timeline then counted.copy_count end as copy_count
        )
    from counted
    inner join intermediate.int_run_size as size on counted.run_id = size.run_id
    left join intermediate.int_overlap as overlap
        on counted.run_id = overlap.run_id and counted.device = overlap.device and counted.step is null
    union all by name
    select run_id, null::bigint as step, device, e2e_ns, compute_ns, communication_ns, compute_ns + uncovered_ns as busy_ns
    from intermediate.int_overlap
    where (run_id, device) not in (select (run_id, device) from counted)
),

split as (
    select
        run_id,
        step,
        device,
        e2e_ns,
        unnest([
            {'metric': 'E2E Time', 'parent': null, 'depth': 0, 'place': '0', 'ns': e2e_ns,
             'n': compute_count + communication_count + coalesce(copy_count, 0), 'total': null},
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

-- Uncovered communication by group: in parts where several groups communicate at the same time, it counts for each of them.
group_part as (
    select
        run_id,
        step,
        device,
        unnest([
            {'metric': 'Group ' || process_group, 'parent': 'Uncovered Communication Time', 'depth': 2, 'place': '2 ' || process_group,
             'ns': uncovered_ns, 'n': collective_count},
            {'metric': 'Group ' || process_group || ' (Wait)', 'parent': 'Group ' || process_group, 'depth': 3,
             'place': '2 ' || process_group || ' 1', 'ns': wait_ns, 'n': null},
            {'metric': 'Group ' || process_group || ' (Transmit)', 'parent': 'Group ' || process_group, 'depth': 3,
             'place': '2 ' || process_group || ' 2', 'ns': uncovered_ns - wait_ns, 'n': null}
        ], recursive := true)
    from (select * replace (coalesce(process_group, '(not recorded)') as process_group) from intermediate.int_communication_wait)
    union all
    select
        wait.run_id,
        wait.step,
        wait.device,
        'Overlap of Groups' as metric,
        'Uncovered Communication Time' as parent,
        2 as depth,
        '2~' as place,
        greatest(0, sum(wait.uncovered_ns) - max(device.busy_ns - device.compute_ns))::bigint as ns,
        null as n
    from intermediate.int_communication_wait as wait
    inner join device
        on wait.run_id = device.run_id and wait.step is not distinct from device.step and wait.device = device.device
    group by wait.run_id, wait.step, wait.device
    having count(*) > 1
),

-- Kernels that compute and communicate in one: the matrix core's time is computing, the rest is communication.
fused as (
    select
        run_id,
        step,
        device,
        unnest([
            {'metric': kernel_class || ' (Computing)', 'place': '1 ' || kernel_class || ' 1', 'ns': sum(core_ns)::bigint},
            {'metric': kernel_class || ' (Communication)', 'place': '1 ' || kernel_class || ' 2',
             'ns': (sum(end_ns - start_ns) - sum(core_ns))::bigint}
        ], recursive := true),
        count(*) as n,
        any_value(kernel_class) as parent
    from intermediate.int_device_time
    where kernel_class = 'Fused Compute and Communication' and core_ns is not null
    group by run_id, step, device, kernel_class
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
    select run_id, step, device, metric, parent, depth, place, ns, n, null
    from group_part
    where ns is not null
    union all
    select run_id, step, device, metric, parent, 3, place, ns, n, null
    from fused
    union all
    select run_id, null, null, unnest(['E2E Time', 'Computing Time', 'Uncovered Communication Time', 'Free Time', 'SDMA', 'Free']),
        unnest([null, 'E2E Time', 'E2E Time', 'E2E Time', 'Free Time', 'Free Time']), unnest([0, 1, 1, 1, 2, 2]),
        unnest(['0', '1', '2', '3', '31', '32']), null, null, null
    from intermediate.int_run_size
    where device_activity_count = 0 and run_id not in (select run_id from intermediate.int_overlap)
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
