-- Overall metrics of two runs side by side: one row per pair of scopes, device and metric.
--
-- Devices are matched by their place among the run's devices. The differences of the parts of a metric sum to its own. A class
-- of kernels that one side lacks counts as nothing there; where a side has no device activities at all, only Host Wall Clock compares.
--
-- @title Overall metrics
-- @sheet OverallMetrics
-- @position 10
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal, metric, parent_metric, depth
-- @order device_ordinal nulls last, metric_order
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column device_ordinal id Place of the device among the run's devices, from 0; NULL for the host
-- @column metric name Metric
-- @column parent_metric name Metric that it is a part of
-- @column depth depth Depth in the tree
-- @column metric_order id Place in the tree
-- @column base_duration_ns duration_ns Time, base
-- @column base_share_of_e2e share Part of E2E Time, base
-- @column base_call_count count Activities that it stands for, base
-- @column base_total_duration_ns duration_ns Sum of durations, overlaps counted each time, base
-- @column comparison_duration_ns duration_ns Time, comparison
-- @column comparison_share_of_e2e share Part of E2E Time, comparison
-- @column comparison_call_count count Activities that it stands for, comparison
-- @column comparison_total_duration_ns duration_ns Sum of durations, overlaps counted each time, comparison
-- @column diff_duration_ns duration_ns Time, comparison − base
-- @column diff_call_count count Activities that it stands for, comparison − base
-- @column diff_total_duration_ns duration_ns Sum of durations, overlaps counted each time, comparison − base
-- @column ratio_duration_ns ratio Time, comparison / base
with
either as (
    select
        pair.*,
        entry.device_ordinal,
        entry.metric,
        entry.parent_metric,
        entry.depth
    from intermediate.int_scope_pair as pair
    inner join marts.metric as entry
        on pair.base_run_id = entry.run_id and pair.base_step is not distinct from entry.step
    union
    select
        pair.*,
        entry.device_ordinal,
        entry.metric,
        entry.parent_metric,
        entry.depth
    from intermediate.int_scope_pair as pair
    inner join marts.metric as entry
        on pair.comparison_run_id = entry.run_id and pair.comparison_step is not distinct from entry.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.device_ordinal,
    either.metric,
    either.parent_metric,
    either.depth,
    coalesce(base.metric_order, comparison.metric_order) as metric_order,
    base.duration_ns as base_duration_ns,
    base.share_of_e2e as base_share_of_e2e,
    base.call_count as base_call_count,
    base.total_duration_ns as base_total_duration_ns,
    comparison.duration_ns as comparison_duration_ns,
    comparison.share_of_e2e as comparison_share_of_e2e,
    comparison.call_count as comparison_call_count,
    comparison.total_duration_ns as comparison_total_duration_ns,
    case
        when count(base.duration_ns) over scope > 0 and count(comparison.duration_ns) over scope > 0
            then macros.or_nothing(comparison.run_id, comparison.duration_ns) - macros.or_nothing(base.run_id, base.duration_ns)
    end as diff_duration_ns,
    case
        when count(base.duration_ns) over scope > 0 and count(comparison.duration_ns) over scope > 0
            then macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count)
    end as diff_call_count,
    case
        when count(base.duration_ns) over scope > 0 and count(comparison.duration_ns) over scope > 0
            then macros.or_nothing(comparison.run_id, comparison.total_duration_ns) - macros.or_nothing(base.run_id, base.total_duration_ns)
    end as diff_total_duration_ns,
    macros.ratio(base.duration_ns, comparison.duration_ns) as ratio_duration_ns
from either
left join marts.metric as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.device_ordinal is not distinct from base.device_ordinal
        and either.metric is not distinct from base.metric
        and either.parent_metric is not distinct from base.parent_metric
        and either.depth is not distinct from base.depth
left join marts.metric as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.device_ordinal is not distinct from comparison.device_ordinal
        and either.metric is not distinct from comparison.metric
        and either.parent_metric is not distinct from comparison.parent_metric
        and either.depth is not distinct from comparison.depth
window scope as (
    partition by
        either.base_run_id,
        either.base_step,
        either.comparison_run_id,
        either.comparison_step,
        either.device_ordinal is null
)
