-- Average step of two runs side by side: one row per pair of runs and metric.
--
-- Averages are over complete steps, since a step at the edge of the recording lacks kernels: so runs with different numbers
-- of steps compare. A run without device activities has no complete steps; its step length is over all steps.
--
-- @title Average step
-- @sheet StepCompare
-- @position 20
-- @grain base_run_id, comparison_run_id, metric
-- @order metric_order
-- @column base_run_id id Run compared with
-- @column comparison_run_id id Run compared
-- @column metric name Metric
-- @column metric_order id Place among the metrics
-- @column base_step_count count Steps, base
-- @column base_complete_step_count count Complete steps, base
-- @column comparison_step_count count Steps, comparison
-- @column comparison_complete_step_count count Complete steps, comparison
-- @column base_average_duration_ns duration_ns Average over complete steps, base
-- @column comparison_average_duration_ns duration_ns Average over complete steps, comparison
-- @column diff_average_duration_ns duration_ns Average over complete steps, comparison − base
-- @column ratio_average_duration_ns ratio Average over complete steps, comparison / base
with
device_metric as (
    select run_id, step, metric, max(duration_ns) as duration_ns
    from marts.overall
    where step is not null and depth <= 1 and metric <> 'Overlapped Communication'
    group by run_id, step, metric
),

counted as (
    select run_id, step, coalesce(is_complete, true) as counts, 'Step Length' as metric, 0 as metric_order, duration_ns
    from marts.step
    union all
    select run_id, step, is_complete, 'Step Length with Device Tail', 1, duration_with_tail_ns
    from marts.step
    where is_complete is not null
    union all
    select run_id, step, is_complete, 'Device Time', 2, device_duration_ns
    from marts.step
    where is_complete is not null
    union all
    select
        step.run_id,
        step.step,
        step.is_complete,
        device_metric.metric,
        3 + list_position(['E2E Time', 'Computing Time', 'Uncovered Communication Time', 'Free Time'], device_metric.metric),
        device_metric.duration_ns
    from marts.step as step
    inner join device_metric on step.run_id = device_metric.run_id and step.step = device_metric.step
    where device_metric.metric <> 'Communication Time'
),

average as (
    select
        run_id,
        metric,
        metric_order,
        count(*) as step_count,
        count(*) filter (where counts) as complete_step_count,
        round(avg(duration_ns) filter (where counts))::bigint as average_duration_ns
    from counted
    group by run_id, metric, metric_order
)

select
    base.run_id as base_run_id,
    comparison.run_id as comparison_run_id,
    base.metric,
    base.metric_order::bigint as metric_order,
    base.step_count as base_step_count,
    base.complete_step_count as base_complete_step_count,
    comparison.step_count as comparison_step_count,
    comparison.complete_step_count as comparison_complete_step_count,
    base.average_duration_ns as base_average_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.average_duration_ns - base.average_duration_ns as diff_average_duration_ns,
    macros.ratio(base.average_duration_ns, comparison.average_duration_ns) as ratio_average_duration_ns
from average as base
inner join average as comparison on base.metric = comparison.metric
