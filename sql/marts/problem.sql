-- What is wrong with a run's data: one row per kind of trouble met while reading, per quarantined activity, per stream with
-- suspect activities, and for an Overlap Analysis that does not agree with the activities.
--
-- @title Problems
-- @grain run_id, kind, event_index
-- @order run_id, kind, event_index
-- @materialized
-- @column run_id id Run
-- @column kind category Kind of trouble
-- @column problem_count count How often
-- @column event_index id First event concerned, its place in the file
-- @column detail text What exactly, of the first
select run_id, kind, problem_count, event_index, detail
from staging.stg_problem
union all
select run_id, 'no_time' as kind, 1 as problem_count, event_index, activity_name || ': ' || quarantine_reason as detail
from intermediate.int_device_activity
where quarantine_reason is not null
union all
select
    run_id,
    'overlap' as kind,
    count(*) as problem_count,
    min(event_index) as event_index,
    'on stream ' || coalesce(stream::varchar, 'unknown') || ', the first is ' || min_by(activity_name, event_index) as detail
from intermediate.int_device_activity
where is_suspect
group by run_id, device, stream
union all
select
    run_id,
    'overlap_analysis' as kind,
    count(*) as problem_count,
    null as event_index,
    max_by(metric || ' differs by ' || difference_ns || ' ns', difference_ns) as detail
from marts.overlap_check
where not agrees
group by run_id
