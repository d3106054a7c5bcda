-- Device activities of every kind of source in one shape: one row per kernel, collective, memory copy or memory set.
--
-- On an Ascend device, kernels are the rows of its kernel details; without these, the tasks of the trace that are neither copies
-- nor events, notifications and the like. Collectives are those of the trace's groups; without these, those of the
-- kernel details. Copies are the copy tasks on streams that also compute. What the device does for a collective is part of
-- it; its step is that of its own row among the details, which starts in the same microsecond. Where a flow arrives at the start,
-- the place of the flow's start is kept.
--
-- @title Activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Place among the events of the run
-- @column is_npu flag Did an Ascend device run it?
-- @column activity_kind category kernel, memcpy or memset
-- @column activity_name name Name of the kernel or copy
-- @column kernel_type name Type of a kernel, where it is recorded
-- @column accelerator_core category Unit that it ran on, where it is recorded
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on; NULL for a collective, whose track is no stream
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column correlation id Key of the launch
-- @column flow_index id Place of the start of the flow that ends at its start, on an Ascend device
-- @column external_id id Key of the operator, for activities without a launch
-- @column recorded_step id Step that the profiler put it in
-- @column bytes bytes Bytes copied or set
-- @column kernel_shapes text Shapes of the kernel's own inputs, where they are recorded
-- @column core_ns duration_ns Time of the matrix core
-- @column matrix_ns duration_ns Time of the matrix unit
-- @column vector_ns duration_ns Time of the vector unit
-- @column wait_ns duration_ns Gap before it on the device
-- @column process_group name Group of a collective on an Ascend device
-- @column is_collective flag Is it a collective of an Ascend device?
-- @column args text Arguments of the event, JSON
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

departure as (
    select run_id, flow_id, min(event_index) as flow_index
    from staging.stg_device_flow
    where not is_arrival
    group by run_id, flow_id
),

arrival as (
    select flow.run_id, flow.pid, flow.time_ns, min(departure.flow_index) as flow_index
    from staging.stg_device_flow as flow
    left join departure on flow.run_id = departure.run_id and flow.flow_id = departure.flow_id
    where flow.is_arrival
    group by flow.run_id, flow.pid, flow.time_ns
),

-- The task of a kernel in the trace: it starts when the row of the details says, on the same device where the row tells one.
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
            when run_id in (select run_id from intermediate.int_track_device where is_told and process_kind = 'task') then device
        end as track_device
    from staging.stg_kernel_detail
),

has_details as (select distinct run_id from detail where not is_communication),

has_groups as (select distinct run_id from event where track = 'collective'),

npu_kernel as (
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
        null::bigint as bytes,
        detail.input_shapes as kernel_shapes,
        detail.core_ns,
        detail.matrix_ns,
        detail.vector_ns,
        detail.wait_ns,
        null::varchar as process_group,
        detail.is_communication as is_collective,
        null::varchar as args
    from detail
    left join place
        on
            detail.run_id = place.run_id
            and detail.start_ns = place.start_ns
            and detail.track_device is not distinct from place.of_device
            and not detail.is_communication
    left join intermediate.int_known_device as known on detail.run_id = known.run_id and known.place = 1
    where not detail.is_communication or detail.run_id not in (select run_id from has_groups)
    union all
    select
        task.run_id, task.event_index, 'kernel', task.event_name, null, task.task_type, task.device, task.stream, task.start_ns,
        task.duration_ns, place.flow_index, null, null, null, null, null, null, null, null, false, null
    from task
    left join place
        on task.run_id = place.run_id and task.start_ns = place.start_ns and task.device = place.of_device
    where
        task.run_id not in (select run_id from has_details)
        and not task.is_copy
        and macros.is_kernel_task(task.task_type)
        and (upper(task.task_type) <> 'OTHER' or place.has_flow)
),

npu_collective as (
    select
        event.run_id, event.event_index, 'kernel', event.event_name, null, null, event.device, null, event.start_ns,
        event.duration_ns, arrival.flow_index,
        case when own.start_ns >= event.start_ns - 1000 then own.step end, null, null, null, null, null, null, event.process_group, true, event.args
    from event
    left join arrival
        on event.run_id = arrival.run_id and event.pid = arrival.pid and event.start_ns = arrival.time_ns
    asof left join (
        select run_id, start_ns, step
        from staging.stg_kernel_detail
        where is_communication and step is not null and start_ns is not null
    ) as own
        on event.run_id = own.run_id and event.start_ns + 1000 >= own.start_ns
    where event.track = 'collective'
),

npu_copy as (
    select
        task.run_id, task.event_index, case when task.is_set then 'memset' else 'memcpy' end, task.event_name, null, null,
        task.device, task.stream, task.start_ns, task.duration_ns, arrival.flow_index, null, task.bytes, null, null, null, null,
        null, null, false, null
    from task
    left join arrival on task.run_id = arrival.run_id and task.pid = arrival.pid and task.start_ns = arrival.time_ns
    where
        task.is_copy
        and (task.run_id, task.device, task.stream) in (select (run_id, device, stream) from npu_kernel where not is_collective)
),

npu as (
    select * from npu_kernel
    union all
    select * from npu_collective
    union all
    select * from npu_copy
)

select
    run_id,
    event_index,
    false as is_npu,
    activity_kind,
    activity_name,
    null::varchar as kernel_type,
    null::varchar as accelerator_core,
    device,
    stream,
    start_ns,
    duration_ns,
    end_ns,
    correlation,
    null::bigint as flow_index,
    external_id,
    null::bigint as recorded_step,
    bytes,
    null::varchar as kernel_shapes,
    null::bigint as core_ns,
    null::bigint as matrix_ns,
    null::bigint as vector_ns,
    null::bigint as wait_ns,
    null::varchar as process_group,
    false as is_collective,
    args
from staging.stg_device_activity
union all
select
    run_id,
    event_index,
    true as is_npu,
    activity_kind,
    activity_name,
    kernel_type,
    accelerator_core,
    device,
    stream,
    start_ns,
    duration_ns,
    case when duration_ns >= 0 then start_ns + duration_ns end as end_ns,
    null as correlation,
    flow_index,
    null as external_id,
    recorded_step,
    bytes,
    kernel_shapes,
    core_ns,
    matrix_ns,
    vector_ns,
    wait_ns,
    process_group,
    is_collective,
    args
from npu
