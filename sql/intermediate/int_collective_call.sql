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
collective as materialized (select * from staging.stg_collective_call),

launch as (
    select launch.run_id, launch.event_index, call.pid, call.tid, call.start_ns, call.operator_index
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_host_call as call
        on launch.run_id = call.run_id and coalesce(launch.launch_index, launch.operator_index) = call.event_index
    where call.call_kind <> 'launch' and (call.run_id, call.pid, call.tid) in (select (run_id, pid, tid) from collective)
),

-- Apart, since the annotation may have ended before the launch that its record_param_comms is still around.
around as (
    select launch.event_index as activity_index, launch.operator_index, call.*
    from launch
    asof inner join (select * from collective where annotated_name is null) as call
        on
            launch.run_id = call.run_id
            and launch.pid = call.pid
            and launch.tid = call.tid
            and launch.start_ns >= call.start_ns
    where launch.start_ns < call.end_ns
    union all
    select launch.event_index as activity_index, launch.operator_index, call.*
    from launch
    asof inner join (select * from collective where annotated_name is not null) as call
        on
            launch.run_id = call.run_id
            and launch.pid = call.pid
            and launch.tid = call.tid
            and launch.start_ns >= call.start_ns
    where launch.start_ns < call.end_ns
)

select
    around.run_id,
    around.activity_index as event_index,
    max(case when around.annotated_name is null then around.event_index end) as call_index,
    max_by(around.call_name, around.start_ns) as call_name,
    max(around.annotated_name) as annotated_name,
    max(around.input_type) as input_type,
    max(around.input_elements) as input_elements,
    max(around.args) as args
from around
left join intermediate.int_host_call as operator
    on
        around.run_id = operator.run_id
        and around.operator_index = operator.event_index
        and operator.call_name like 'aten::%'
        and operator.start_ns >= around.start_ns
where operator.event_index is null
group by around.run_id, around.activity_index
