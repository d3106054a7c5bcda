-- Overall metrics of devices and the wall clock of the host, as comparisons use them: one row per run, step, device and
-- metric.
--
-- @title Overall metrics
-- @grain run_id, step, device_ordinal, metric
-- @order run_id, step, device_ordinal, metric_order
-- @sheet OverallMetrics
-- @position 10
-- @comparison overall_comparison
-- @key device_ordinal, metric, parent_metric, depth
-- @attribute metric_order
-- @measure duration_ns sum, difference, ratio
-- @measure share_of_e2e none
-- @measure call_count sum, difference
-- @measure total_duration_ns sum, difference
-- @known duration_ns by device_ordinal is null
-- @comparison_order device_ordinal nulls last, metric_order
-- @places parent_metric
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device_ordinal id Position of the device among the run's devices, from 0; NULL for the host
-- @column metric name Metric
-- @column parent_metric name Metric that contains it
-- @column depth depth Depth in the tree
-- @column is_part flag Is it one of the parts that sum to E2E Time?
-- @column metric_order id Position in the tree, as a path; a metric has the same one in every run
-- @column duration_ns duration_ns Time
-- @column share_of_e2e share Share of E2E Time
-- @column call_count count Activities or calls that it sums up
-- @column total_duration_ns duration_ns Sum of their durations (overlaps count more than once)
select
    run_id,
    step,
    device_ordinal,
    metric,
    parent_metric,
    depth,
    is_part,
    metric_order,
    duration_ns,
    share_of_e2e,
    call_count,
    total_duration_ns
from marts.overall
union all by name
select
    host.run_id,
    host.step,
    tree.metric,
    tree.depth::integer as depth,
    false as is_part,
    tree.place as metric_order,
    host.wall_clock_ns as duration_ns,
    host.host_call_count as call_count,
    host.total_duration_ns
from marts.host_time as host
inner join seeds.metric as tree on tree.metric = 'Host Wall Clock'
