-- The average complete step of a run: one row per run, device and metric.
--
-- Averages cover complete steps, since a step at the edge of the recording lacks kernels. If all complete steps are
-- idle, there is no average: the activities belong to other steps or to none. In a run without device activities, the
-- average covers all steps.
--
-- @title Average step
-- @grain run_id, device_ordinal, metric
-- @order run_id, device_ordinal, metric_order
-- @materialized
-- @column run_id id Run
-- @column device_ordinal id Position of the device among the run's devices, from 0; NULL for the step as a whole
-- @column metric name Metric
-- @column metric_order id Position in the list of metrics
-- @column is_part flag Is it one of the parts that sum to E2E Time?
-- @column step_count count Steps of the run
-- @column complete_step_count count Complete steps, 0 if these are all idle
-- @column average_duration_ns duration_ns Average over complete steps, rounded to the nanosecond
with
measured as (
    select
        run_id,
        step,
        null::bigint as device_ordinal,
        'Step Length' as metric,
        '0' as metric_order,
        false as is_part,
        duration_ns
    from marts.step
    union all by name
    select
        run_id,
        step,
        'Step Length with Device Tail' as metric,
        '1' as metric_order,
        false as is_part,
        duration_with_tail_ns as duration_ns
    from marts.step
    union all by name
    select
        run_id, step, 'Device Time' as metric, '2' as metric_order, false as is_part, device_duration_ns as duration_ns
    from marts.step
    union all by name
    select run_id, step, device_ordinal, metric, '3' || metric_order as metric_order, is_part, duration_ns
    from marts.metric
    where step is not null and metric in (select metric from seeds.metric where in_headline = 'yes')
)

select
    step.run_id,
    measured.device_ordinal,
    measured.metric,
    max(measured.metric_order) as metric_order,
    measured.is_part,
    max(total.step_count) as step_count,
    max(total.complete_step_count) as complete_step_count,
    -- A complete step in which the device was idle adds nothing to the sums, but counts as a step.
    round(
        sum(measured.duration_ns) filter (where coalesce(step.is_complete, true))
        / nullif(max(coalesce(total.complete_step_count, total.step_count)), 0)
    )::bigint as average_duration_ns
from marts.step as step
inner join measured on step.run_id = measured.run_id and step.step = measured.step
inner join (
    select
        run_id,
        count(*) as step_count,
        case
            when bool_or(is_complete and device_activity_count > 0) then count(*) filter (where is_complete)
            when count(is_complete) > 0 then 0
        end as complete_step_count
    from marts.step
    group by run_id
) as total on step.run_id = total.run_id
group by step.run_id, measured.device_ordinal, measured.metric, measured.is_part
