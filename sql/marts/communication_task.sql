-- Tasks of collectives: one row per run, step, collective and task.
--
-- From Level1 on, Ascend profilers record what a collective does on each plane (Notify_Wait, Memcpy, Reduce_Inline,
-- RDMASend, …). Planes work in parallel, so durations sum to more than the collective's.
--
-- @title Tasks of collectives
-- @grain run_id, step, collective_name, task_name
-- @order run_id, step, collective_name, total_duration_ns desc, task_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column collective_name name Collective
-- @column task_name name Task
-- @column call_count count Tasks
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column bytes bytes Bytes moved
select
    run_id,
    step,
    coalesce(collective_name, '(no collective)') as collective_name,
    task_name,
    count(*) as call_count,
    sum(duration_ns)::bigint as total_duration_ns,
    round(avg(duration_ns))::bigint as average_duration_ns,
    max(duration_ns) as max_duration_ns,
    min(duration_ns) as min_duration_ns,
    sum(bytes)::bigint as bytes
from intermediate.int_collective_task
group by
    grouping sets (
        (run_id, coalesce(collective_name, '(no collective)'), task_name),
        (run_id, step, coalesce(collective_name, '(no collective)'), task_name)
    )
having grouping(step) = 1 or step is not null
