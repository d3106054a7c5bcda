-- Calls of collectives around the launches of device activities: one row per activity that was launched below one.
--
-- An operator of `aten` inside the call works for itself (it copies tensors into one buffer and out of it): what it launches is left
-- out. Ascend profilers record collectives on tracks of their own, and are left out, too.
--
-- @title Calls around launches of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id The activity, its place in the file
-- @column call_index id The record_param_comms around the launch
-- @column call_name name Name of the innermost of these calls
-- @column annotated_name name Collective that an annotation around the launch names
-- @column input_type category Type of the first input of record_param_comms
-- @column input_elements count Elements of it
-- @column args text Arguments of record_param_comms, JSON
with
launch as (
    select
        launch.run_id,
        launch.event_index,
        call.pid,
        call.tid,
        call.start_ns,
        case when operator.call_name like 'aten::%' then operator.start_ns end as aten_start_ns
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_host_call as call
        on launch.run_id = call.run_id and coalesce(launch.launch_index, launch.operator_index) = call.event_index
    left join intermediate.int_host_call as operator
        on call.run_id = operator.run_id and call.operator_index = operator.event_index
    where
        call.call_kind <> 'launch'
        and (call.run_id, call.pid, call.tid) in (select (run_id, pid, tid) from staging.stg_collective_call)
),

-- Apart, since the annotation may have ended before the launch that its record_param_comms is still around.
around as (
    select launch.run_id, launch.event_index, launch.start_ns as launch_ns, launch.aten_start_ns, collective.* exclude (run_id, event_index), collective.event_index as call_index
    from launch
    asof inner join (select * from staging.stg_collective_call where annotated_name is null) as collective
        on
            launch.run_id = collective.run_id
            and launch.pid = collective.pid
            and launch.tid = collective.tid
            and launch.start_ns >= collective.start_ns
    union all
    select launch.run_id, launch.event_index, launch.start_ns, launch.aten_start_ns, collective.* exclude (run_id, event_index), null
    from launch
    asof inner join (select * from staging.stg_collective_call where annotated_name is not null) as collective
        on
            launch.run_id = collective.run_id
            and launch.pid = collective.pid
            and launch.tid = collective.tid
            and launch.start_ns >= collective.start_ns
)

select
    run_id,
    event_index,
    max(call_index) as call_index,
    max_by(call_name, start_ns) as call_name,
    max(annotated_name) as annotated_name,
    max(input_type) as input_type,
    max(input_elements) as input_elements,
    max(args) as args
from around
where launch_ns < end_ns and (aten_start_ns is null or aten_start_ns < start_ns)
group by run_id, event_index
