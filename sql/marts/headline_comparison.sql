-- How the E2E time of two runs differs and where: one row per pair of scopes, device and metric, E2E Time and its parts.
--
-- The parts sum to E2E Time, and their differences to its difference. Whole runs that recorded different numbers of steps
-- do not compare: for them, the figures are averages over complete steps, as `scope` says. Devices are matched by
-- their place among the run's devices.
--
-- @title Headline
-- @sheet Summary
-- @headline
-- @position 0
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal, metric
-- @order device_ordinal, metric_order
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column device_ordinal id Place of the device among the run's devices, from 0
-- @column scope category step, whole run or average complete step
-- @column metric name Metric
-- @column depth depth 0 for E2E Time, 1 for its parts
-- @column metric_order id Place among the metrics
-- @column base_duration_ns duration_ns Time, base
-- @column comparison_duration_ns duration_ns Time, comparison
-- @column diff_duration_ns duration_ns Time, comparison − base
-- @column ratio_duration_ns ratio Time, comparison / base
-- @column share_of_diff share Part of the E2E time's difference
with
complete_step as (
    select run_id, step, count(*) over (partition by run_id) as complete_step_count
    from marts.step
    where is_complete
),

step_count as (
    select run_id, count(*) as step_count, count(*) filter (where is_complete) as complete_step_count
    from marts.step
    group by run_id
),

part as (
    select run_id, step, false as is_average, device_ordinal, metric, metric_order, duration_ns
    from marts.overall
    where is_part
    union all
    select
        overall.run_id,
        null::bigint as step,
        true as is_average,
        overall.device_ordinal,
        overall.metric,
        max(overall.metric_order) as metric_order,
        round(sum(overall.duration_ns) / complete_step.complete_step_count)::bigint as duration_ns
    from marts.overall as overall
    inner join complete_step on overall.run_id = complete_step.run_id and overall.step = complete_step.step
    where overall.is_part
    group by overall.run_id, overall.device_ordinal, overall.metric, complete_step.complete_step_count
),

pair as (
    select
        pair.*,
        pair.base_step is null
        and pair.comparison_step is null
        and base.step_count <> comparison.step_count
        and base.complete_step_count > 0
        and comparison.complete_step_count > 0 as is_average
    from intermediate.int_scope_pair as pair
    left join step_count as base on pair.base_run_id = base.run_id
    left join step_count as comparison on pair.comparison_run_id = comparison.run_id
),

matched as (
    select
        pair.*,
        base.device_ordinal,
        base.metric,
        base.metric_order,
        base.duration_ns as base_duration_ns,
        comparison.duration_ns as comparison_duration_ns
    from pair
    inner join part as base
        on
            pair.base_run_id = base.run_id
            and pair.base_step is not distinct from base.step
            and coalesce(pair.is_average, false) = base.is_average
    inner join part as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and pair.comparison_step is not distinct from comparison.step
            and coalesce(pair.is_average, false) = comparison.is_average
            and base.device_ordinal = comparison.device_ordinal
            and base.metric = comparison.metric
),

metric as (
    select * from matched
    union all
    select
        * exclude (metric, metric_order, base_duration_ns, comparison_duration_ns),
        'E2E Time' as metric,
        0 as metric_order,
        sum(base_duration_ns)::bigint as base_duration_ns,
        sum(comparison_duration_ns)::bigint as comparison_duration_ns
    from matched
    group by all
)

select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    device_ordinal,
    case
        when is_average then 'average complete step'
        when base_step is null and comparison_step is null then 'whole run'
        else 'step'
    end as scope,
    metric,
    case when metric_order = 0 then 0 else 1 end::integer as depth,
    metric_order,
    base_duration_ns,
    comparison_duration_ns,
    comparison_duration_ns - base_duration_ns as diff_duration_ns,
    macros.ratio(base_duration_ns, comparison_duration_ns) as ratio_duration_ns,
    (comparison_duration_ns - base_duration_ns) / nullif(
        sum(comparison_duration_ns - base_duration_ns) filter (where metric_order > 0) over (
            partition by base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal
        ),
        0
    )::double as share_of_diff
from metric
