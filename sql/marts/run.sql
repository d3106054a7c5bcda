-- Runs in the warehouse: one row per run, which is one rank of one execution.
--
-- Status is `incomplete` if the file was cut; `salvaged` if events were repaired, dropped, left out or quarantined, or
-- lack their begin or end; else `complete`.
--
-- @title Runs
-- @grain run_id
-- @order run_id
-- @listed run_id, label, rank, status, device_name, step_count, event_count, source_path
-- @column run_id id Name of the run in the warehouse
-- @column label name Label that it was ingested under
-- @column rank id Rank within the execution
-- @column status category complete, salvaged or incomplete
-- @column problem_count count Events that were repaired, dropped, unpaired or quarantined
-- @column not_understood_count count Events that no figure counts, since neither category nor track identifies them
-- @column device_name name Names of the devices
-- @column device_count count Devices with activities
-- @column step_count count Steps
-- @column complete_step_count count Steps in which every kernel launch has its activity, 0 if these are all idle; NULL without steps or device activities
-- @column event_count count Events in the trace
-- @column device_activity_count count Device activities with a usable time
-- @column device_source category Best source of device data: activities, overlap analysis or tables; NULL without any
-- @column host_call_count count Host calls
-- @column memory_event_count count Allocations and frees on devices
-- @column world_size count Ranks of the execution
-- @column base_time_ns timestamp_ns Add it to times of the trace to get Unix time
-- @column source_path text File that it was ingested from
-- @column source_format category Format of that file
-- @column profiler_level category Level of an Ascend profiler; Level0 records no types and shapes of kernels
-- @column source_bytes bytes Size of that file
-- @column content_hash id Hash of that file
-- @column ingested_at text Time of ingestion (UTC)
-- @column tool_version text Version of tracemill that ingested it
with
problem as (
    select
        run_id,
        sum(problem_count)::bigint as problem_count,
        bool_or(kind in ('truncated', 'envelope_cut')) as is_incomplete,
        bool_or(kind not in ('empty_table', 'missing_table')) as is_salvaged
    from (
        select run_id, kind, problem_count from staging.stg_problem
        union all by name
        select run_id, reason as kind, event_count as problem_count
        from staging.stg_unread_event
        where reason = 'unpaired'
    )
    group by run_id
),

unread as (
    select run_id, sum(event_count)::bigint as not_understood_count
    from staging.stg_unread_event
    where reason = 'not_understood'
    group by run_id
),

step as (
    select
        run_id,
        count(*) as step_count,
        case
            when bool_or(is_complete and device_activity_count > 0) then count(*) filter (where is_complete)
            when count(is_complete) > 0 then 0
        end as complete_step_count
    from marts.step
    group by run_id
)

select
    run.run_id,
    run.label,
    run.rank,
    case
        when problem.is_incomplete then 'incomplete'
        when problem.is_salvaged or size.quarantined_count + size.untimed_call_count > 0 then 'salvaged'
        else 'complete'
    end as status,
    coalesce(problem.problem_count, 0) + coalesce(size.quarantined_count + size.untimed_call_count, 0) as problem_count,
    coalesce(unread.not_understood_count, 0) as not_understood_count,
    run.device_name,
    size.device_count,
    coalesce(step.step_count, 0) as step_count,
    step.complete_step_count,
    run.event_count,
    size.device_activity_count,
    size.device_source,
    size.host_call_count,
    size.memory_event_count,
    run.world_size,
    run.base_time_ns,
    run.source_path,
    run.source_format,
    level.profiler_level,
    run.source_bytes,
    run.content_hash,
    run.ingested_at,
    run.tool_version
from staging.stg_run as run
left join intermediate.int_run_size as size on run.run_id = size.run_id
left join staging.stg_profiler_level as level on run.run_id = level.run_id
left join problem on run.run_id = problem.run_id
left join unread on run.run_id = unread.run_id
left join step on run.run_id = step.run_id
