-- Top-level operators of two runs side by side: one row per pair of scopes and operator name.
--
-- A missing side counts as nothing in a difference. With the variable `max_kernel_num` operators with more device activities are
-- opened into those inside, call by call, as in `marts.operator_detail_comparison`; host time is then not counted.
--
-- @title Operators
-- @sheet OperatorCompareStatistic
-- @position 40
-- @alternative operators
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, operator_name
-- @order diff_device_duration_ns desc, diff_host_duration_ns desc, operator_name
-- @rank diff_device_duration_ns, diff_host_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column operator_name name Top-level operator, or why there is none
-- @column base_device_duration_ns duration_ns Device time launched, base
-- @column base_device_activity_count count Device activities, base
-- @column base_call_count count Calls on the host, base
-- @column base_host_duration_ns duration_ns Host time, base
-- @column comparison_device_duration_ns duration_ns Device time launched, comparison
-- @column comparison_device_activity_count count Device activities, comparison
-- @column comparison_call_count count Calls on the host, comparison
-- @column comparison_host_duration_ns duration_ns Host time, comparison
-- @column diff_device_duration_ns duration_ns Device time launched, comparison − base
-- @column diff_device_activity_count count Device activities, comparison − base
-- @column diff_call_count count Calls on the host, comparison − base
-- @column diff_host_duration_ns duration_ns Host time, comparison − base
-- @column ratio_device_duration_ns ratio Device time launched, comparison / base
with
either as (
    select
        pair.*,
        entry.operator_name
    from intermediate.int_scope_pair as pair
    inner join marts.operator as entry
        on pair.base_run_id = entry.run_id and macros.scope(pair.base_step) = macros.scope(entry.step)
    union
    select
        pair.*,
        entry.operator_name
    from intermediate.int_scope_pair as pair
    inner join marts.operator as entry
        on pair.comparison_run_id = entry.run_id and macros.scope(pair.comparison_step) = macros.scope(entry.step)
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.operator_name,
    base.device_duration_ns as base_device_duration_ns,
    base.device_activity_count as base_device_activity_count,
    base.call_count as base_call_count,
    base.host_duration_ns as base_host_duration_ns,
    comparison.device_duration_ns as comparison_device_duration_ns,
    comparison.device_activity_count as comparison_device_activity_count,
    comparison.call_count as comparison_call_count,
    comparison.host_duration_ns as comparison_host_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.device_duration_ns) - macros.or_nothing(base.run_id, base.device_duration_ns) as diff_device_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.device_activity_count) - macros.or_nothing(base.run_id, base.device_activity_count) as diff_device_activity_count,
    macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count) as diff_call_count,
    macros.or_nothing(comparison.run_id, comparison.host_duration_ns) - macros.or_nothing(base.run_id, base.host_duration_ns) as diff_host_duration_ns,
    macros.ratio(base.device_duration_ns, comparison.device_duration_ns) as ratio_device_duration_ns
from either
left join marts.operator as base
    on
        either.base_run_id = base.run_id
        and macros.scope(either.base_step) = macros.scope(base.step)
        and either.operator_name is not distinct from base.operator_name
left join marts.operator as comparison
    on
        either.comparison_run_id = comparison.run_id
        and macros.scope(either.comparison_step) = macros.scope(comparison.step)
        and either.operator_name is not distinct from comparison.operator_name
where
    cast(getvariable('max_kernel_num') as bigint) is null
    or either.operator_name in ('(no operator)', '(no launch in the trace)', '(graph launch)')
union all
select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    coalesce(base_operator_name, comparison_operator_name) as operator_name,
    sum(base_device_duration_ns)::bigint as base_device_duration_ns,
    sum(base_device_activity_count)::bigint as base_device_activity_count,
    nullif(count(base_operator_name), 0) as base_call_count,
    null as base_host_duration_ns,
    sum(comparison_device_duration_ns)::bigint as comparison_device_duration_ns,
    sum(comparison_device_activity_count)::bigint as comparison_device_activity_count,
    nullif(count(comparison_operator_name), 0) as comparison_call_count,
    null as comparison_host_duration_ns,
    sum(diff_device_duration_ns)::bigint as diff_device_duration_ns,
    case
        when count(base_operator_name) = 0 then sum(comparison_device_activity_count)
        when count(comparison_operator_name) = 0 then -sum(base_device_activity_count)
        else sum(comparison_device_activity_count) - sum(base_device_activity_count)
    end::bigint as diff_device_activity_count,
    count(comparison_operator_name) - count(base_operator_name) as diff_call_count,
    null as diff_host_duration_ns,
    macros.ratio(sum(base_device_duration_ns)::bigint, sum(comparison_device_duration_ns)::bigint) as ratio_device_duration_ns
from marts.operator_detail_comparison
where cast(getvariable('max_kernel_num') as bigint) is not null
group by
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    coalesce(base_operator_name, comparison_operator_name)
