-- Collectives of two runs side by side: one row per pair of scopes and collective, and under it one per
-- task.
--
-- A missing side counts as nothing in a difference. Process groups and data types are summed: `marts.communication` has them. Tasks
-- are recorded by Ascend profilers from Level1 on; they run side by side on several planes, so that they do not sum to the collective.
--
-- @title Communication
-- @sheet CommunicationCompare
-- @position 60
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, collective_name, task_name
-- @order diff_collective_duration_ns desc, collective_name, depth, diff_total_duration_ns desc, task_name
-- @rank diff_collective_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column collective_name name Collective
-- @column task_name name Task of it; NULL for the collective itself
-- @column depth depth 0 for a collective, 1 for a task of it
-- @column base_total_duration_ns duration_ns Sum of durations, base
-- @column base_average_duration_ns duration_ns Average duration, base
-- @column base_max_duration_ns duration_ns Longest, base
-- @column base_min_duration_ns duration_ns Shortest, base
-- @column base_call_count count Calls, base
-- @column base_output_bytes bytes Size of all outputs, base
-- @column base_collective_duration_ns duration_ns Sum of durations of the collective that the row is or belongs to, base
-- @column comparison_total_duration_ns duration_ns Sum of durations, comparison
-- @column comparison_average_duration_ns duration_ns Average duration, comparison
-- @column comparison_max_duration_ns duration_ns Longest, comparison
-- @column comparison_min_duration_ns duration_ns Shortest, comparison
-- @column comparison_call_count count Calls, comparison
-- @column comparison_output_bytes bytes Size of all outputs, comparison
-- @column comparison_collective_duration_ns duration_ns Sum of durations of the collective that the row is or belongs to, comparison
-- @column diff_collective_duration_ns duration_ns Sum of durations of that collective, comparison − base
-- @column diff_total_duration_ns duration_ns Sum of durations, comparison − base
-- @column diff_call_count count Calls, comparison − base
-- @column diff_output_bytes bytes Size of all outputs, comparison − base
-- @column ratio_total_duration_ns ratio Sum of durations, comparison / base
with
part as (
    select
        run_id,
        step,
        collective_name,
        null::varchar as task_name,
        sum(call_count)::bigint as call_count,
        sum(total_duration_ns)::bigint as total_duration_ns,
        round(sum(total_duration_ns) / sum(call_count))::bigint as average_duration_ns,
        max(max_duration_ns) as max_duration_ns,
        min(min_duration_ns) as min_duration_ns,
        sum(output_bytes)::bigint as output_bytes
    from marts.communication
    group by run_id, step, collective_name
    union all
    select
        run_id,
        step,
        collective_name,
        task_name,
        call_count,
        total_duration_ns,
        average_duration_ns,
        max_duration_ns,
        min_duration_ns,
        bytes as output_bytes
    from marts.communication_task
),

entry as (
    select
        *,
        max(case when task_name is null then total_duration_ns end) over (partition by run_id, step, collective_name)
            as collective_duration_ns
    from part
),

either as (
    select
        pair.*,
        entry.collective_name,
        entry.task_name
    from intermediate.int_scope_pair as pair
    inner join entry as entry
        on pair.base_run_id = entry.run_id and pair.base_step is not distinct from entry.step
    union
    select
        pair.*,
        entry.collective_name,
        entry.task_name
    from intermediate.int_scope_pair as pair
    inner join entry as entry
        on pair.comparison_run_id = entry.run_id and pair.comparison_step is not distinct from entry.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.collective_name,
    either.task_name,
    case when either.task_name is null then 0 else 1 end::integer as depth,
    base.total_duration_ns as base_total_duration_ns,
    base.average_duration_ns as base_average_duration_ns,
    base.max_duration_ns as base_max_duration_ns,
    base.min_duration_ns as base_min_duration_ns,
    base.call_count as base_call_count,
    base.output_bytes as base_output_bytes,
    base.collective_duration_ns as base_collective_duration_ns,
    comparison.total_duration_ns as comparison_total_duration_ns,
    comparison.average_duration_ns as comparison_average_duration_ns,
    comparison.max_duration_ns as comparison_max_duration_ns,
    comparison.min_duration_ns as comparison_min_duration_ns,
    comparison.call_count as comparison_call_count,
    comparison.output_bytes as comparison_output_bytes,
    comparison.collective_duration_ns as comparison_collective_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.collective_duration_ns) - macros.or_nothing(base.run_id, base.collective_duration_ns) as diff_collective_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.total_duration_ns) - macros.or_nothing(base.run_id, base.total_duration_ns) as diff_total_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.call_count) - macros.or_nothing(base.run_id, base.call_count) as diff_call_count,
    macros.or_nothing(comparison.run_id, comparison.output_bytes) - macros.or_nothing(base.run_id, base.output_bytes) as diff_output_bytes,
    macros.ratio(base.total_duration_ns, comparison.total_duration_ns) as ratio_total_duration_ns
from either
left join entry as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.collective_name is not distinct from base.collective_name
        and either.task_name is not distinct from base.task_name
left join entry as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.collective_name is not distinct from comparison.collective_name
        and either.task_name is not distinct from comparison.task_name
