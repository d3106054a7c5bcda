-- Where device activities were launched from: one row per device activity.
--
-- The launching operator is the innermost one open at the launch (`int_activity_call`), the top operator the outermost
-- one. The step is that of the launch; else the one that an Ascend profiler recorded; else that of the step marker's
-- copy that covers the activity's start, on its own stream if possible, else on any stream of the device. An activity
-- belongs to the backward pass if the name of one of its operators says so, if its operator has a forward thread, or if
-- a fwdbwd flow ends at the start of the top operator.
--
-- @title Launches of device activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the activity in the file
-- @column launch_index id Runtime call that launched it, or call in which a flow to it starts
-- @column launch_name name Name of that call
-- @column launch_start_ns timestamp_ns Start of that call
-- @column operator_index id Innermost operator around the launch: position in the file
-- @column operator_name name Innermost operator around the launch
-- @column top_operator_name name Outermost operator around the launch, or the reason for its absence, in parentheses
-- @column input_shapes text Shapes of the innermost operator's inputs, JSON
-- @column is_backward flag Was it launched by the backward pass?
-- @column step id Step that it belongs to
with
linked as materialized (select * from intermediate.int_activity_call),

-- Copies of step markers: for each stream, and (stream NULL) over all streams of the device.
device_marker as (
    select
        run_id,
        device,
        stream,
        grouping(stream) = 0 as is_of_stream,
        step,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns
    from (
        select run_id, device, stream, step, start_ns, start_ns + duration_ns as end_ns
        from staging.stg_step_marker
        where on_device
        union all by name
        select run_id, device, null as stream, recorded_step as step, start_ns, end_ns
        from intermediate.int_activity
        where recorded_step is not null and start_ns is not null
    )
    where step is not null
    group by grouping sets ((run_id, device, step, stream), (run_id, device, step))
),

unmarked as (
    select run_id, event_index, device, stream, start_ns
    from linked
    where launch_index is null and recorded_step is null
),

marked as (
    select run_id, event_index, max_by(step, is_of_stream) as step
    from (
        select activity.run_id, activity.event_index, marker.step, marker.end_ns, activity.start_ns, marker.is_of_stream
        from unmarked as activity
        asof inner join (select * from device_marker where stream is not null) as marker
            on
                activity.run_id = marker.run_id
                and activity.device is not distinct from marker.device
                and activity.stream = marker.stream
                and activity.start_ns >= marker.start_ns
        union all by name
        select activity.run_id, activity.event_index, marker.step, marker.end_ns, activity.start_ns, marker.is_of_stream
        from unmarked as activity
        asof inner join (select * from device_marker where not is_of_stream) as marker
            on
                activity.run_id = marker.run_id
                and activity.device is not distinct from marker.device
                and activity.start_ns >= marker.start_ns
    )
    where start_ns < end_ns
    group by run_id, event_index
),

backward_start as (
    select distinct run_id, pid, tid, time_ns
    from staging.stg_forward_backward
    where is_backward
),

-- DuckDB estimates the sizes of inner joins well; with outer joins it would keep all host calls in memory.
operator as (
    select
        linked.run_id,
        linked.event_index,
        operator.call_name,
        operator.input_shapes,
        macros.is_backward_name(operator.call_name) or coalesce(operator.forward_thread > 0, false) as is_backward
    from linked
    inner join intermediate.int_host_call as operator
        on linked.run_id = operator.run_id and linked.operator_index = operator.event_index
),

top_operator as (
    select
        linked.run_id,
        linked.event_index,
        operator.call_name,
        macros.is_backward_name(operator.call_name) or backward_start.time_ns is not null as is_backward
    from linked
    inner join intermediate.int_host_call as operator
        on linked.run_id = operator.run_id and linked.top_operator_index = operator.event_index
    left join backward_start
        on
            operator.run_id = backward_start.run_id
            and operator.pid = backward_start.pid
            and operator.tid = backward_start.tid
            and operator.start_ns = backward_start.time_ns
)

select
    linked.run_id,
    linked.event_index,
    linked.launch_index,
    linked.launch_name,
    linked.launch_start_ns,
    linked.operator_index,
    operator.call_name as operator_name,
    case
        when top_operator.call_name is not null then top_operator.call_name
        when linked.launch_index is null then '(no launch in the trace)'
        when linked.launch_name ilike '%graphlaunch%' then '(graph launch)'
        else '(no operator)'
    end as top_operator_name,
    operator.input_shapes,
    coalesce(operator.is_backward, false) or coalesce(top_operator.is_backward, false) as is_backward,
    coalesce(linked.launch_step, linked.recorded_step, marked.step) as step
from linked
left join operator
    on linked.run_id = operator.run_id and linked.event_index = operator.event_index
left join top_operator
    on linked.run_id = top_operator.run_id and linked.event_index = top_operator.event_index
left join marked
    on linked.run_id = marked.run_id and linked.event_index = marked.event_index
