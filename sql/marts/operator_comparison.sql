-- Top-level operators of two runs side by side: one row per pair of scopes and operator name.
--
-- A missing side counts as 0 in a difference. If the variable `max_kernel_num` is set, an operator with more device
-- activities than that is opened into its nested operators, call by call, as in `marts.operator_detail_comparison`;
-- host times are then NULL.
--
-- @title Operators
-- @sheet OperatorCompareStatistic
-- @position 40
-- @alternative operators
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, operator_name
-- @order diff_device_duration_ns desc, diff_host_duration_ns desc, operator_name
-- @rank diff_device_duration_ns, diff_host_duration_ns
-- @counted call_count
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column operator_name name Top-level operator, or the reason for its absence
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
select *
from marts.operator_total_comparison
where
    getvariable('max_kernel_num')::bigint is null
    or operator_name in ('(no operator)', '(no launch in the trace)', '(graph launch)')
union all by name
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
    macros.ratio(sum(base_device_duration_ns)::bigint, sum(comparison_device_duration_ns)::bigint)
        as ratio_device_duration_ns
from marts.operator_detail_comparison
where getvariable('max_kernel_num')::bigint is not null
group by
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    coalesce(base_operator_name, comparison_operator_name)
