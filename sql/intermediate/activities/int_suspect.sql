-- Activities that cannot have run as recorded: one row per activity that overlaps a later start on its own stream.
--
-- A stream runs one activity at a time. Overlaps with a known reason are left out: activities of zero length;
-- activities of one launch, since branches of a graph run in parallel but are recorded on one stream; a copy and a
-- kernel on AMD devices, whose profiler gives several queues one number; overlaps up to the resolution of the clock (1
-- µs, 250 ns or 100 ns), which all starts are multiples of; and on NVIDIA devices of compute capability 9 and up, a
-- kernel whose successor starts before it ends and outlasts it (programmatic dependent launch). Ascend activities
-- without a recorded stream are not checked.
--
-- @title Suspect activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the event in the file
with
running as not materialized (
    select run_id, event_index, activity_kind, activity_name, device, stream, start_ns, end_ns, correlation
    from intermediate.int_activity
    where duration_ns > 0 and start_ns is not null and (stream is not null or not is_npu)
),

-- Sorts narrow rows only. Most streams have no overlap, and the rest of the view then costs nothing.
crowded as materialized (
    select distinct run_id, device, stream
    from (
        select run_id, device, stream
        from running
        qualify
            end_ns > lead(start_ns) over (partition by run_id, device, stream order by start_ns, end_ns, event_index)
    )
),

entry as (
    select
        running.* exclude (activity_kind, activity_name),
        running.activity_kind = 'kernel' as is_kernel,
        running.activity_kind <> 'kernel' or starts_with(running.activity_name, '__amd_rocclr_') as is_copy,
        launch.launch_name
    from running
    inner join crowded
        on
            running.run_id = crowded.run_id
            and running.device is not distinct from crowded.device
            and running.stream is not distinct from crowded.stream
    left join intermediate.int_activity_launch as launch
        on running.run_id = launch.run_id and running.event_index = launch.event_index
),

run as (
    select
        entry.run_id,
        case
            when bool_and(entry.start_ns % 1000 = 0) then 1000
            when bool_and(entry.start_ns % 250 = 0) then 250
            when bool_and(entry.start_ns % 100 = 0) then 100
            else 0
        end as clock_ns,
        coalesce(bool_or(entry.launch_name like 'hip%'), false)
        or coalesce(bool_or(regexp_matches(known.device_name, '\b(AMD|Instinct|Radeon|gfx[0-9])')), false) as is_amd
    from entry
    left join staging.stg_run as known on entry.run_id = known.run_id
    group by entry.run_id
),

-- Consecutive activities of one launch form a group; an activity without a launch is a group of its own.
marked as (
    select
        entry.*,
        run.clock_ns,
        run.is_amd,
        run.is_amd and entry.is_copy as is_apart,
        entry.correlation is null or (entry.correlation is distinct from lag(entry.correlation) over lane) as is_first
    from entry
    inner join run on entry.run_id = run.run_id
    window lane as (
        partition by entry.run_id, entry.device, entry.stream, run.is_amd and entry.is_copy
        order by entry.start_ns, entry.end_ns, entry.event_index
    )
),

grouped as (
    select *, sum(is_first::integer) over lane as ordinal
    from marked
    window lane as (partition by run_id, device, stream, is_apart order by start_ns, end_ns, event_index)
),

-- The first activity of the group after each.
following as (
    select run_id, device, stream, is_apart, ordinal - 1 as ordinal, start_ns, end_ns, is_kernel
    from grouped
    where is_first
)

select grouped.run_id, grouped.event_index
from grouped
inner join following
    on
        grouped.run_id = following.run_id
        and grouped.device is not distinct from following.device
        and grouped.stream is not distinct from following.stream
        and grouped.is_apart = following.is_apart
        and grouped.ordinal = following.ordinal
left join staging.stg_device_property as property
    on grouped.run_id = property.run_id and grouped.device = property.device
where
    grouped.end_ns - following.start_ns > grouped.clock_ns
    and not (
        not grouped.is_amd
        and coalesce(property.compute_major >= 9, false)
        and grouped.is_kernel
        and following.is_kernel
        and following.end_ns >= grouped.end_ns
    )
