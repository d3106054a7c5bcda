-- Host time: one row per run and step.
--
-- The wall clock runs from the first start to the last end of host calls (operators, annotations and runtime calls) on
-- all threads. Runs without device activities are compared by it.
--
-- @title Host time
-- @grain run_id, step
-- @order run_id, step
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column wall_clock_ns duration_ns From the first start to the last end
-- @column host_call_count count Host calls
-- @column total_duration_ns duration_ns Sum of their durations; nested calls count again
select
    run_id,
    step,
    max(end_ns) - min(start_ns) as wall_clock_ns,
    count(*) as host_call_count,
    sum(duration_ns)::bigint as total_duration_ns
from intermediate.int_host_call
where call_kind in ('operator', 'annotation', 'runtime')
group by grouping sets ((run_id), (run_id, step))
having grouping(step) = 1 or step is not null
