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
whole as (
    select
        pair.*,
        false as is_average,
        base.device_ordinal,
        base.metric,
        base.metric_order,
        base.duration_ns as base_duration_ns,
        comparison.duration_ns as comparison_duration_ns
    from intermediate.int_scope_pair as pair
    inner join marts.overall as base
        on pair.base_run_id = base.run_id and pair.base_step is not distinct from base.step
    inner join marts.overall as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and pair.comparison_step is not distinct from comparison.step
            and base.device_ordinal = comparison.device_ordinal
            and base.metric = comparison.metric
    where base.is_part
),

average as (
    select
        base.run_id as base_run_id,
        null::bigint as base_step,
        comparison.run_id as comparison_run_id,
        null::bigint as comparison_step,
        true as is_average,
        base.device_ordinal,
        base.metric,
        base.metric_order,
        base.average_duration_ns as base_duration_ns,
        comparison.average_duration_ns as comparison_duration_ns
    from marts.step_average as base
    inner join marts.step_average as comparison
        on base.device_ordinal = comparison.device_ordinal and base.metric = comparison.metric
    where
        base.is_part
        and base.step_count <> comparison.step_count
        and base.complete_step_count > 0
        and comparison.complete_step_count > 0
),

matched as (
    select *
    from (select * from whole union all select * from average)
    qualify is_average = bool_or(is_average) over (
        partition by base_run_id, base_step, comparison_run_id, comparison_step
    )
),

metric as (
    select * from matched
    union all
    select
        * exclude (metric, metric_order, base_duration_ns, comparison_duration_ns),
        'E2E Time' as metric,
        '' as metric_order,
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
    case when metric_order = '' then 0 else 1 end::integer as depth,
    metric_order,
    base_duration_ns,
    comparison_duration_ns,
    comparison_duration_ns - base_duration_ns as diff_duration_ns,
    macros.ratio(base_duration_ns, comparison_duration_ns) as ratio_duration_ns,
    (comparison_duration_ns - base_duration_ns) / nullif(
        sum(comparison_duration_ns - base_duration_ns) filter (where metric_order > '') over (
            partition by base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal
        ),
        0
    )::double as share_of_diff
from metric
