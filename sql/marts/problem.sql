-- Problems with a run's data: one row per kind of problem met while reading, quarantined activity, stream with suspect
-- activities, category of unread events, or failed check.
--
-- Unread events are not understood, or a begin or end without its partner. Host calls without a usable time share one
-- row. Checks fail for an Overlap Analysis that does not agree with the activities, for collectives whose sizes
-- contradict each other, and for a flow category that a user named and that links no launch.
--
-- @title Problems
-- @grain run_id, kind, event_index
-- @order run_id, kind, event_index
-- @materialized
-- @column run_id id Run
-- @column kind category Kind of problem
-- @column problem_count count Number of occurrences
-- @column event_index id Position of the first affected event in the file
-- @column byte_offset count Offset of the first one in the text of the file (decompressed, as UTF-8); NULL if not known
-- @column detail text Details of the first occurrence
select run_id, kind, problem_count, event_index, byte_offset, detail
from staging.stg_problem
union all by name
select
    run_id,
    'no_time' as kind,
    1 as problem_count,
    event_index,
    null as byte_offset,
    activity_name || ': ' || quarantine_reason as detail
from intermediate.int_device_activity
where quarantine_reason is not null
union all by name
select
    run_id,
    'untimed_call' as kind,
    count(*) as problem_count,
    min(event_index) as event_index,
    null as byte_offset,
    min_by(call_name || ': ' || reason, event_index) as detail
from staging.stg_untimed_call
group by run_id
union all by name
select
    run_id,
    'overlap' as kind,
    count(*) as problem_count,
    min(event_index) as event_index,
    null as byte_offset,
    'on stream '
    || coalesce(stream::varchar, 'unknown')
    || ', the first is '
    || min_by(activity_name, event_index) as detail
from intermediate.int_device_activity
where is_suspect
group by run_id, device, stream
union all by name
select
    run_id,
    'overlap_analysis' as kind,
    count(*) as problem_count,
    null as event_index,
    null as byte_offset,
    max_by(metric || ' differs by ' || difference_ns || ' ns', difference_ns) as detail
from marts.overlap_check
where not agrees
group by run_id
union all by name
select
    run_id,
    'collective_size' as kind,
    count(*) as problem_count,
    min(event_index) as event_index,
    null as byte_offset,
    min_by(
        format(
            '{}: {} bytes in, {} bytes out, {} ranks',
            collective_name,
            input_bytes,
            output_bytes,
            coalesce(group_size::varchar, 'unknown')
        ),
        event_index
    ) as detail
from intermediate.int_collective
where is_misfit
group by run_id
union all by name
select
    run_id,
    'flow_category' as kind,
    1 as problem_count,
    null as event_index,
    null as byte_offset,
    flow_category as detail
from staging.stg_flow_category
where
    run_id not in (
        select flow.run_id
        from intermediate.int_flow_launch as flow
        inner join staging.stg_flow_category as named using (run_id, flow_category)
    )
union all by name
select
    run_id,
    reason as kind,
    event_count as problem_count,
    event_index,
    null as byte_offset,
    case when event_category <> '' then 'category ' || event_category else 'no category, process ' || process_name end
    || case when phase in ('X', 'B') then '' else ', phase ' || coalesce(nullif(phase, ''), 'none') end as detail
from staging.stg_unread_event
