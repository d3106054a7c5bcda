-- Calls of collectives around the launches of device activities: one row per activity launched within such a call.
--
-- An operator of `aten` within the call does its own work, such as copying tensors into and out of one buffer:
-- activities that it launched are left out. So are those of Ascend devices, whose profilers record collectives on
-- tracks of their own.
--
-- @title Calls around launches of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the activity in the file
-- @column call_index id The record_param_comms around the launch: position in the file
-- @column call_name name Name of the innermost of these calls
-- @column annotated_name name Collective named by an annotation around the launch
-- @column input_type category Type of the first input of record_param_comms
-- @column input_elements count Elements of that input
-- @column args text Arguments of record_param_comms, JSON
with
collective as materialized (select * from staging.stg_collective_call),

launch as (
    select launch.run_id, launch.event_index, call.pid, call.tid, call.start_ns, call.operator_index
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_host_call as call
        on launch.run_id = call.run_id and coalesce(launch.launch_index, launch.operator_index) = call.event_index
    where
        call.call_kind <> 'launch' and (call.run_id, call.pid, call.tid) in (select (run_id, pid, tid) from collective)
),

-- Annotations count separately: one may end before a launch that its record_param_comms still contains.
point as (
    select
        collective.run_id,
        collective.event_index,
        collective.pid,
        collective.tid,
        collective.annotated_name is not null as is_annotation,
        collective.start_ns,
        collective.end_ns,
        case when bound.change > 0 then collective.start_ns else collective.end_ns end as from_ns,
        bound.change
    from collective
    cross join (values (1), (-1)) as bound (change)
    where collective.end_ns > collective.start_ns
),

counted as (
    select *, sum(change) over so_far as open_count
    from point
    window so_far as (
        partition by run_id, pid, tid, is_annotation order by from_ns, change, end_ns desc, event_index
        rows between unbounded preceding and current row
    )
),

-- The innermost open call from each time on; when a call ends, that is the one around it again.
innermost as (
    select
        run_id, pid, tid, is_annotation, from_ns, max_by(call, [call.start_ns, -call.end_ns, call.event_index]) as call
    from (
        select
            *,
            last_value(case when change > 0 then counted end ignore nulls) over (
                partition by run_id, pid, tid, is_annotation, open_count
                order by from_ns, change, end_ns desc, event_index
            ) as call
        from counted
        where open_count > 0
    )
    where call.end_ns > from_ns
    group by run_id, pid, tid, is_annotation, from_ns
),

around as (
    select launch.event_index as activity_index, launch.operator_index, collective.*
    from (select * from launch cross join (values (false), (true)) as kind (is_annotation)) as launch
    asof inner join innermost
        on
            launch.run_id = innermost.run_id
            and launch.pid = innermost.pid
            and launch.tid = innermost.tid
            and launch.is_annotation = innermost.is_annotation
            and launch.start_ns >= innermost.from_ns
    inner join collective
        on innermost.run_id = collective.run_id and innermost.call.event_index = collective.event_index
    where launch.start_ns < collective.end_ns
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
        and around.start_ns <= operator.start_ns
where operator.event_index is null
group by around.run_id, around.activity_index
