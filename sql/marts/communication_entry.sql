-- Collectives, each followed by its tasks: one row per run, step, collective and task.
--
-- Rows sum over process groups and data types; `marts.communication` has each. Ascend profilers record tasks from
-- Level1 on. Tasks run in parallel on several planes, so their durations do not sum to the collective's.
--
-- @title Communication
-- @grain run_id, step, collective_name, task_name
-- @order run_id, step, collective_duration_ns desc, collective_name, depth, total_duration_ns desc, task_name
-- @sheet CommunicationCompare
-- @position 60
-- @comparison communication_comparison
-- @key collective_name, task_name
-- @attribute depth
-- @measure total_duration_ns sum, difference, ratio
-- @measure average_duration_ns average
-- @measure max_duration_ns longest
-- @measure min_duration_ns shortest
-- @measure call_count sum, difference
-- @measure output_bytes sum, difference
-- @measure collective_duration_ns sum, difference, rank
-- @comparison_order diff_collective_duration_ns desc, collective_name, depth, diff_total_duration_ns desc, task_name
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column collective_name name Collective
-- @column task_name name Task of the collective; NULL for the collective itself
-- @column depth depth 0 for a collective, 1 for one of its tasks
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column call_count count Calls
-- @column output_bytes bytes Total size of outputs (of a task: bytes moved)
-- @column collective_duration_ns duration_ns Total duration of the row's collective
with
part as (
    select
        run_id,
        step,
        collective_name,
        null::varchar as task_name,
        0 as depth,
        sum(total_duration_ns)::bigint as total_duration_ns,
        round(sum(total_duration_ns) / sum(call_count))::bigint as average_duration_ns,
        max(max_duration_ns) as max_duration_ns,
        min(min_duration_ns) as min_duration_ns,
        sum(call_count)::bigint as call_count,
        sum(output_bytes)::bigint as output_bytes
    from marts.communication
    group by run_id, step, collective_name
    union all by name
    select
        run_id,
        step,
        collective_name,
        task_name,
        1 as depth,
        total_duration_ns,
        average_duration_ns,
        max_duration_ns,
        min_duration_ns,
        call_count,
        bytes as output_bytes
    from marts.communication_task
)

select
    *,
    max(case when task_name is null then total_duration_ns end) over (partition by run_id, step, collective_name)
        as collective_duration_ns
from part
