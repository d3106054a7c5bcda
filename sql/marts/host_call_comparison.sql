-- Host calls of two runs side by side: one row per pair of scopes, name and kind of call.
--
-- A missing side counts as nothing in a difference.
--
-- @title Host calls
-- @sheet ApiCompare
-- @position 80
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, call_name, call_kind
-- @order diff_self_duration_ns desc, call_name
-- @rank diff_self_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column call_name name Call
-- @column call_kind category operator, annotation or runtime
-- @column base_self_duration_ns duration_ns Self time, base
-- @column base_total_duration_ns duration_ns Sum of durations, base
-- @column base_average_duration_ns duration_ns Average duration, base
-- @column base_call_count count Calls, base
-- @column comparison_self_duration_ns duration_ns Self time, comparison
-- @column comparison_total_duration_ns duration_ns Sum of durations, comparison
-- @column comparison_average_duration_ns duration_ns Average duration, comparison
-- @column comparison_call_count count Calls, comparison
-- @column diff_self_duration_ns duration_ns Self time, comparison − base
-- @column diff_total_duration_ns duration_ns Sum of durations, comparison − base
-- @column diff_call_count count Calls, comparison − base
-- @column ratio_self_duration_ns ratio Self time, comparison / base
-- @column ratio_total_duration_ns ratio Sum of durations, comparison / base
with
either as (
    select
        pair.*,
        entry.call_name,
        entry.call_kind
    from intermediate.int_scope_pair as pair
    inner join marts.host_call as entry
        on pair.base_run_id = entry.run_id and pair.base_step is not distinct from entry.step
    union
    select
        pair.*,
        entry.call_name,
        entry.call_kind
    from intermediate.int_scope_pair as pair
    inner join marts.host_call as entry
        on pair.comparison_run_id = entry.run_id and pair.comparison_step is not distinct from entry.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.call_name,
    either.call_kind,
    base.self_duration_ns as base_self_duration_ns,
    base.total_duration_ns as base_total_duration_ns,
    base.average_duration_ns as base_average_duration_ns,
    base.call_count as base_call_count,
    comparison.self_duration_ns as comparison_self_duration_ns,
    comparison.total_duration_ns as comparison_total_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.call_count as comparison_call_count,
    macros.or_nothing(comparison.run_id, comparison.self_duration_ns) - macros.or_nothing(base.run_id, base.self_duration_ns) as diff_self_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.total_duration_ns) - macros.or_nothing(base.run_id, base.total_duration_ns) as diff_total_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count) as diff_call_count,
    macros.ratio(base.self_duration_ns, comparison.self_duration_ns) as ratio_self_duration_ns,
    macros.ratio(base.total_duration_ns, comparison.total_duration_ns) as ratio_total_duration_ns
from either
left join marts.host_call as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.call_name is not distinct from base.call_name
        and either.call_kind is not distinct from base.call_kind
left join marts.host_call as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.call_name is not distinct from comparison.call_name
        and either.call_kind is not distinct from comparison.call_kind
