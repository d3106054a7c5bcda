-- Where the time of a device went: one row per run, step, device and metric; the metrics form a tree.
--
-- E2E Time runs from the first start to the last end of device activities. E2E Time = Computing Time + Uncovered
-- Communication Time + Free Time, and Free Time = SDMA + Free, exactly. Classes of kernels sum to Computing Time: where
-- kernels overlap, the time counts for the one that started first. Communication Time = Uncovered Communication Time +
-- Overlapped Communication. On Ascend devices each process group has a row (Group …), split into waiting and
-- transmitting; these rows sum to Uncovered Communication Time + Overlap of Groups. A run without device activities has
-- one row per metric of the split, without a duration. `seeds.metric` defines the tree and its order. If an Ascend
-- profiler wrote an Overlap Analysis of the device, the whole run has the E2E Time and the parts of that analysis, even
-- if the trace has no activities. The analysis rounds each interval, so the classes sum to its Computing Time within a
-- nanosecond per interval. Tables of kernels without a trace do not record copies: SDMA and Free are then NULL.
--
-- @title Overall metrics
-- @grain run_id, step, device, metric
-- @order run_id, step, device, metric_order
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device; NULL without device activities
-- @column device_ordinal id Position of the device among the run's devices, from 0
-- @column metric name Metric
-- @column parent_metric name Metric that contains it
-- @column depth depth Depth in the tree
-- @column is_part flag Is it one of the parts that sum to E2E Time?
-- @column metric_order id Position in the tree, as a path; a metric has the same one in every run
-- @column duration_ns duration_ns Time
-- @column share_of_e2e share Share of E2E Time
-- @column call_count count Activities that it sums up
-- @column total_duration_ns duration_ns Sum of their durations (overlaps count more than once)
with
device as materialized (select * from intermediate.int_device_total),

split as (
    select
        run_id,
        step,
        device,
        unnest([
            {
                'metric': 'E2E Time', 'duration_ns': e2e_ns,
                'call_count': compute_count + communication_count + coalesce(copy_count, 0),
                'total_duration_ns': null
            },
            {
                'metric': 'Computing Time', 'duration_ns': compute_ns, 'call_count': compute_count,
                'total_duration_ns': compute_total_ns
            },
            {
                'metric': 'Uncovered Communication Time', 'duration_ns': busy_ns - compute_ns,
                'call_count': communication_count, 'total_duration_ns': communication_total_ns
            },
            {'metric': 'Free Time', 'duration_ns': e2e_ns - busy_ns, 'call_count': null, 'total_duration_ns': null},
            {
                'metric': 'SDMA', 'duration_ns': active_ns - busy_ns, 'call_count': copy_count,
                'total_duration_ns': copy_total_ns
            },
            {'metric': 'Free', 'duration_ns': e2e_ns - active_ns, 'call_count': null, 'total_duration_ns': null},
            {
                'metric': 'Communication Time', 'duration_ns': communication_ns, 'call_count': communication_count,
                'total_duration_ns': communication_total_ns
            },
            {
                'metric': 'Overlapped Communication', 'duration_ns': communication_ns - (busy_ns - compute_ns),
                'call_count': null, 'total_duration_ns': null
            }
        ], recursive := true)
    from device
    union all by name
    select
        run_id,
        null::bigint as step,
        null::bigint as device,
        unnest(['E2E Time', 'Computing Time', 'Uncovered Communication Time', 'Free Time', 'SDMA', 'Free']) as metric
    from intermediate.int_run_size
    where device_activity_count = 0 and run_id not in (select run_id from intermediate.int_overlap)
),

-- While several groups communicate at once, uncovered communication counts for each of them.
groups as (
    select
        wait.run_id,
        wait.step,
        wait.device,
        'Overlap of Groups' as metric,
        greatest(0, sum(wait.uncovered_ns) - max(device.busy_ns - device.compute_ns))::bigint as duration_ns
    from intermediate.int_communication_wait as wait
    inner join device
        on wait.run_id = device.run_id and wait.step is not distinct from device.step and wait.device = device.device
    group by wait.run_id, wait.step, wait.device
    having count(*) > 1
),

-- Metrics of the tree, then those that a run adds below a branch: position below it, and levels down to it.
metric as (
    select run_id, step, device, metric, metric as branch, duration_ns, call_count, total_duration_ns
    from split
    union all by name
    select run_id, step, device, metric, metric as branch, duration_ns
    from groups
    union all by name
    select
        run_id, step, device, metric, branch, parent_metric, place, levels, duration_ns, call_count, total_duration_ns
    from intermediate.int_metric_part
)

select
    metric.run_id,
    metric.step,
    metric.device,
    dense_rank() over (partition by metric.run_id order by metric.device) - 1 as device_ordinal,
    metric.metric,
    coalesce(metric.parent_metric, nullif(tree.parent_metric, '')) as parent_metric,
    (tree.depth::integer + coalesce(metric.levels, 0))::integer as depth,
    tree.is_part = 'yes' and metric.levels is null as is_part,
    tree.place || coalesce(' ' || metric.place, '') as metric_order,
    metric.duration_ns,
    metric.duration_ns / nullif(device.e2e_ns, 0)::double as share_of_e2e,
    metric.call_count,
    metric.total_duration_ns
from metric
inner join seeds.metric as tree on metric.branch = tree.metric
left join device
    on
        metric.run_id = device.run_id
        and metric.step is not distinct from device.step
        and metric.device is not distinct from device.device
