-- How much the E2E time of two runs differs, and where: one row per pair of scopes, device and metric, E2E Time and its
-- parts.
--
-- The parts sum to E2E Time, and their differences to its difference. Where one side did not record copies, Free Time
-- is a part; SDMA and Free lie below it, without a difference. Whole runs with different numbers of steps are not
-- comparable: their rows are averages over complete steps, and `scope` says so. Each average is rounded by itself, so
-- the parts sum to E2E Time within a nanosecond per part. Devices match by their position among the run's devices.
-- Where a run has no device activities, the headline is Host Wall Clock, from the first start to the last end of host
-- calls.
--
-- @title Headline
-- @sheet Summary
-- @headline
-- @position 0
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal, metric
-- @order device_ordinal nulls first, metric_order
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column device_ordinal id Position of the device among the run's devices, from 0; NULL for the host
-- @column scope category step, whole run, average complete step, or average step if neither run has device activities
-- @column metric name Metric
-- @column depth depth 0 for E2E Time and Host Wall Clock, 1 for the parts of E2E Time
-- @column metric_order id Position in the list of metrics
-- @column base_duration_ns duration_ns Time, base
-- @column comparison_duration_ns duration_ns Time, comparison
-- @column diff_duration_ns duration_ns Time, comparison − base
-- @column ratio_duration_ns ratio Time, comparison / base
-- @column share_of_diff share Share of the difference in E2E Time
with
whole as (
    select
        pair.*,
        case when pair.base_step is null and pair.comparison_step is null then 'whole run' else 'step' end as scope,
        base.device_ordinal,
        base.metric,
        base.metric_order,
        base.duration_ns as base_duration_ns,
        comparison.duration_ns as comparison_duration_ns
    from intermediate.int_scope_pair as pair
    inner join marts.metric as base
        on pair.base_run_id = base.run_id and macros.scope(pair.base_step) = macros.scope(base.step)
    inner join marts.metric as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and macros.scope(pair.comparison_step) = macros.scope(comparison.step)
            and base.device_ordinal is not distinct from comparison.device_ordinal
            and base.metric = comparison.metric
    where base.metric in (select metric from seeds.metric where in_headline = 'yes')
),

average as (
    select
        pair.*,
        case
            when base.complete_step_count is null and comparison.complete_step_count is null then 'average step'
            else 'average complete step'
        end as scope,
        base.device_ordinal,
        base.metric,
        base.metric_order,
        base.average_duration_ns as base_duration_ns,
        comparison.average_duration_ns as comparison_duration_ns
    from intermediate.int_scope_pair as pair
    inner join marts.step_average as base on pair.base_run_id = base.run_id
    inner join marts.step_average as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and base.device_ordinal is not distinct from comparison.device_ordinal
            and base.metric = comparison.metric
    where
        macros.scope(pair.base_step) = macros.scope(pair.comparison_step)
        and (
            pair.base_step is null and base.step_count <> comparison.step_count
            or macros.scope(pair.base_step) = macros.average_step()
        )
        and base.metric in (select metric from seeds.metric where in_headline = 'yes')
        and coalesce(base.complete_step_count, base.step_count) > 0
        and coalesce(comparison.complete_step_count, comparison.step_count) > 0
),

matched as (
    select *
    from (select * from whole union all by name select * from average)
    window pair as (partition by base_run_id, base_step, comparison_run_id, comparison_step)
    qualify starts_with(scope, 'average') = bool_or(starts_with(scope, 'average')) over pair
),

-- Which devices, and which pairs, have E2E times: what was not measured is NULL.
known as (
    select
        *,
        bool_or(metric = 'E2E Time' and (base_duration_ns is not null or comparison_duration_ns is not null))
            over device as has_device,
        bool_or(metric = 'E2E Time' and base_duration_ns is not null and comparison_duration_ns is not null) over pair
            as compares_devices,
        bool_or(metric = 'E2E Time' and base_duration_ns is not null and comparison_duration_ns is not null) over device
        and bool_or(metric = 'SDMA' and (base_duration_ns is null or comparison_duration_ns is null)) over device
            as is_free_whole
    from matched
    window
        pair as (partition by base_run_id, base_step, comparison_run_id, comparison_step),
        device as (partition by base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal)
)

select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    device_ordinal,
    scope,
    metric,
    case
        when metric in ('E2E Time', 'Host Wall Clock') then 0
        when metric in ('SDMA', 'Free') and is_free_whole then 2
        else 1
    end::integer as depth,
    metric_order,
    base_duration_ns,
    comparison_duration_ns,
    comparison_duration_ns - base_duration_ns as diff_duration_ns,
    macros.ratio(base_duration_ns, comparison_duration_ns) as ratio_duration_ns,
    (comparison_duration_ns - base_duration_ns) / nullif(
        max(comparison_duration_ns - base_duration_ns) filter (where metric in ('E2E Time', 'Host Wall Clock')) over (
            partition by base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal
        ),
        0
    )::double as share_of_diff
from known
where
    case metric
        when 'Host Wall Clock' then not compares_devices
        when 'Free Time' then is_free_whole
        else has_device
    end
