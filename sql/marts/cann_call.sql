-- Calls of CANN, the software below the framework on an Ascend device: one row per run, level and name.
--
-- These calls are not host calls and do not nest with them. They come from the trace or, if it has none, from CANN's
-- own `api_statistic` table. CANN records them from Level1 on.
--
-- @title Calls of CANN
-- @grain run_id, call_level, call_name
-- @order run_id, total_duration_ns desc, call_level, call_name
-- @materialized
-- @column run_id id Run
-- @column call_level category acl, model, node, hccl or runtime
-- @column call_name name Name
-- @column call_count count Calls
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
with
traced as (
    select
        run_id,
        coalesce(replace(args ->> '$.level', 'communication', 'hccl'), 'unknown') as call_level,
        regexp_replace(event_name, '^(AscendCL|Node|Hccl|Runtime|Model|Communication)@', '') as call_name,
        count(*) as call_count,
        sum(duration_ns)::bigint as total_duration_ns,
        round(avg(duration_ns))::bigint as average_duration_ns,
        max(duration_ns) as max_duration_ns,
        min(duration_ns) as min_duration_ns
    from intermediate.int_track_event
    where track = 'cann' and duration_ns >= 0
    group by all
)

select * from traced
union all by name
select
    run_id,
    coalesce(replace(category, 'communication', 'hccl'), 'unknown') as call_level,
    name as call_name,
    sum(call_count)::bigint as call_count,
    sum(total_ns)::bigint as total_duration_ns,
    round(sum(total_ns) / sum(call_count))::bigint as average_duration_ns,
    max(max_ns) as max_duration_ns,
    min(min_ns) as min_duration_ns
from staging.stg_statistic
where source = 'api_statistic' and name is not null and run_id not in (select run_id from traced)
group by all
