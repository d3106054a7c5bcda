-- Activities of Ascend devices: one row per kernel, collective, memory copy or memory set.
--
-- Kernels are the rows of the kernel details; without these, the tasks of the trace that are not copies, events,
-- notifications and the like. Collectives are those of the trace's groups; without these, those of the kernel details.
-- Copies are the copy tasks on streams that also compute. The tasks on the planes of a collective are part of it and
-- have no rows. A collective of the trace has the step of its row among the details, which starts in the same
-- microsecond.
--
-- @title Activities of Ascend devices
-- @grain run_id, event_index
-- @order run_id, event_index
-- @long Kernels, collectives and copies share the events of the tracks and the arrivals of flows, which are read once.
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position among the events of the run
-- @column activity_kind category kernel, memcpy or memset
-- @column activity_name name Name of the kernel or copy
-- @column kernel_type name Type of a kernel, if recorded
-- @column accelerator_core category Unit that it ran on, if recorded
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on; NULL for a collective, whose track is not a stream
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column flow_index id Position of the start of the flow that leads to it, on an Ascend device
-- @column recorded_step id Step that the profiler assigned it to
-- @column kernel_shapes text Shapes of the kernel's own inputs, if recorded
-- @column core_ns duration_ns Time of the matrix core
-- @column matrix_ns duration_ns Time of the matrix unit
-- @column vector_ns duration_ns Time of the vector unit
-- @column wait_ns duration_ns Gap before it on the device
-- @column is_collective flag Is it a collective of an Ascend device?
-- @column process_group name Group of a collective on an Ascend device
-- @column args text Arguments of the event, JSON
-- @column bytes bytes Bytes copied or set
with
event as materialized (
    select * replace (case when track = 'collective' then args end as args)
    from intermediate.int_track_event
    where track in ('task', 'collective')
),

task as (
    select
        *,
        regexp_matches(lower(event_name), '^mem_?(cpy|copy|set)') or lower(event_name) = 'memcpyasync' as is_copy,
        regexp_matches(lower(event_name), '^mem_?set') as is_set
    from event
    where track = 'task'
),

arrival as materialized (select * from intermediate.int_device_arrival),

-- Tasks of the trace by start, in which kernel rows find theirs: with the device if a row's is known, else without.
place as (
    select
        task.run_id,
        task.start_ns,
        case when grouping(task.device) = 0 then task.device end as of_device,
        min_by(task.device, task.event_index) as device,
        min_by(task.stream, task.event_index) as stream,
        min(arrival.flow_index) as flow_index,
        bool_or(arrival.run_id is not null) as has_flow
    from task
    left join arrival on task.run_id = arrival.run_id and task.pid = arrival.pid and task.start_ns = arrival.time_ns
    where not task.is_copy
    group by grouping sets ((task.run_id, task.start_ns), (task.run_id, task.start_ns, task.device))
),

detail as (
    select
        *,
        case
            when
                run_id in (select run_id from intermediate.int_track_device where is_told and process_kind = 'task')
                then device
        end as track_device
    from staging.stg_kernel_detail
),

kernel as (
    select
        detail.run_id,
        detail.event_index,
        'kernel' as activity_kind,
        detail.kernel_name as activity_name,
        detail.kernel_type,
        detail.accelerator_core,
        coalesce(detail.device, place.device, known.device, 0) as device,
        coalesce(detail.stream, place.stream) as stream,
        detail.start_ns,
        detail.duration_ns,
        place.flow_index,
        detail.step as recorded_step,
        detail.input_shapes as kernel_shapes,
        detail.core_ns,
        detail.matrix_ns,
        detail.vector_ns,
        detail.wait_ns,
        detail.is_communication as is_collective
    from detail
    left join place
        on
            detail.run_id = place.run_id
            and detail.start_ns = place.start_ns
            and detail.track_device is not distinct from place.of_device
            and not detail.is_communication
    left join intermediate.int_known_device as known on detail.run_id = known.run_id and known.place = 1
    where not detail.is_communication or detail.run_id not in (select run_id from event where track = 'collective')
    union all by name
    select
        task.run_id,
        task.event_index,
        'kernel' as activity_kind,
        task.event_name as activity_name,
        task.task_type as accelerator_core,
        task.device,
        task.stream,
        task.start_ns,
        task.duration_ns,
        place.flow_index,
        false as is_collective
    from task
    left join place
        on task.run_id = place.run_id and task.start_ns = place.start_ns and task.device = place.of_device
    where
        task.run_id not in (select run_id from detail where not is_communication)
        and not task.is_copy
        and macros.is_kernel_task(task.task_type)
        and (upper(task.task_type) <> 'OTHER' or place.has_flow)
)

select * from kernel
union all by name
select
    event.run_id,
    event.event_index,
    'kernel' as activity_kind,
    event.event_name as activity_name,
    event.device,
    event.start_ns,
    event.duration_ns,
    arrival.flow_index,
    case when own.start_ns >= event.start_ns - 1000 then own.step end as recorded_step,
    true as is_collective,
    event.process_group,
    event.args
from event
left join arrival on event.run_id = arrival.run_id and event.pid = arrival.pid and event.start_ns = arrival.time_ns
asof left join (
    select run_id, start_ns, step
    from staging.stg_kernel_detail
    where is_communication and step is not null and start_ns is not null
) as own
    on event.run_id = own.run_id and event.start_ns + 1000 >= own.start_ns
where event.track = 'collective'
union all by name
select
    task.run_id,
    task.event_index,
    case when task.is_set then 'memset' else 'memcpy' end as activity_kind,
    task.event_name as activity_name,
    task.device,
    task.stream,
    task.start_ns,
    task.duration_ns,
    arrival.flow_index,
    false as is_collective,
    task.bytes
from task
left join arrival on task.run_id = arrival.run_id and task.pid = arrival.pid and task.start_ns = arrival.time_ns
where
    task.is_copy
    and (task.run_id, task.device, task.stream) in (select (run_id, device, stream) from kernel where not is_collective)
