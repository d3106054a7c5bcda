-- Average step of two runs side by side: one row per pair of runs, device and metric.
--
-- Averages cover complete steps, since a step at the edge of the recording lacks kernels. So runs with different
-- numbers of steps are comparable. Devices match by their position among the run's devices. Runs without steps have no
-- rows.
--
-- @title Average step
-- @sheet StepCompare
-- @position 20
-- @grain base_run_id, comparison_run_id, device_ordinal, metric
-- @order device_ordinal nulls first, metric_order
-- @column base_run_id id Base run
-- @column comparison_run_id id Comparison run
-- @column device_ordinal id Position of the device among the run's devices, from 0; NULL for the step as a whole
-- @column metric name Metric
-- @column metric_order id Position in the list of metrics
-- @column base_step_count count Steps, base
-- @column base_complete_step_count count Complete steps, base
-- @column comparison_step_count count Steps, comparison
-- @column comparison_complete_step_count count Complete steps, comparison
-- @column base_average_duration_ns duration_ns Average over complete steps, base
-- @column comparison_average_duration_ns duration_ns Average over complete steps, comparison
-- @column diff_average_duration_ns duration_ns Average over complete steps, comparison − base
-- @column ratio_average_duration_ns ratio Average over complete steps, comparison / base
select
    base.run_id as base_run_id,
    comparison.run_id as comparison_run_id,
    base.device_ordinal,
    base.metric,
    base.metric_order,
    base.step_count as base_step_count,
    base.complete_step_count as base_complete_step_count,
    comparison.step_count as comparison_step_count,
    comparison.complete_step_count as comparison_complete_step_count,
    base.average_duration_ns as base_average_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.average_duration_ns - base.average_duration_ns as diff_average_duration_ns,
    macros.ratio(base.average_duration_ns, comparison.average_duration_ns) as ratio_average_duration_ns
from marts.step_average as base
inner join marts.step_average as comparison
    on base.metric = comparison.metric and base.device_ordinal is not distinct from comparison.device_ordinal
