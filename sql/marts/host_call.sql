-- Host calls by name: one row per run, step, name and kind of call.
--
-- @title Host calls
-- @grain run_id, step, call_name, call_kind
-- @order run_id, step, total_duration_ns desc, call_name
-- @materialized
-- @sheet ApiCompare
-- @position 80
-- @comparison host_call_comparison
-- @key call_name, call_kind
-- @measure self_duration_ns sum, difference, ratio, rank
-- @measure total_duration_ns sum, difference, ratio
-- @measure average_duration_ns average
-- @measure call_count sum, difference
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column call_name name Name
-- @column call_kind category operator, annotation or runtime
-- @column call_count count Calls
-- @column total_duration_ns duration_ns Sum of durations
-- @column self_duration_ns duration_ns Sum of durations without nested calls
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
select
    run_id,
    step,
    call_name,
    call_kind,
    count(*) as call_count,
    sum(duration_ns)::bigint as total_duration_ns,
    sum(self_duration_ns)::bigint as self_duration_ns,
    round(avg(duration_ns))::bigint as average_duration_ns,
    max(duration_ns) as max_duration_ns,
    min(duration_ns) as min_duration_ns
from intermediate.int_host_call
where call_kind in ('operator', 'annotation', 'runtime')
group by
    grouping sets (
        (run_id, call_name, call_kind),
        (run_id, step, call_name, call_kind)
    )
having grouping(step) = 1 or step is not null
