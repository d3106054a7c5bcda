-- Launches that only flows identify: one row per device activity whose correlation id no launch has, and at whose start
-- a flow ends.
--
-- The launch is the innermost call open where the flow starts. If flows of several categories lead to an activity, the
-- category that a user named counts, and no other. By default the categories of Kineto come first, newest first, then
-- the others by name.
--
-- @title Launches identified by flows
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the activity in the file
-- @column flow_category category Category of the flow
-- @column call_index id Call that launched it: position in the file
with recursive
unlinked as materialized (
    select run_id, event_index, pid, tid, start_ns
    from staging.stg_device_activity as activity
    anti join intermediate.int_host_call as call
        on
            activity.run_id = call.run_id
            and activity.correlation = call.correlation
            and call.call_kind in ('runtime', 'annotation')
),

arrival as (
    select
        unlinked.run_id,
        unlinked.event_index,
        flow.flow_category,
        flow.flow_id,
        flow.time_ns
    from unlinked
    inner join staging.stg_launch_flow as flow
        on
            unlinked.run_id = flow.run_id
            and unlinked.pid = flow.pid
            and unlinked.tid = flow.tid
            and unlinked.start_ns = flow.time_ns
            and flow.is_arrival
    left join staging.stg_flow_category as named on unlinked.run_id = named.run_id
    where flow.flow_category = coalesce(named.flow_category, flow.flow_category)
),

departure as materialized (
    select
        arrival.run_id,
        arrival.event_index,
        arrival.flow_category,
        flow.event_index as flow_index,
        flow.pid,
        flow.tid,
        flow.time_ns
    from arrival
    asof inner join (
        select *
        from staging.stg_launch_flow
        where not is_arrival and (run_id, flow_id) in (select (run_id, flow_id) from arrival)
    ) as flow
        on
            arrival.run_id = flow.run_id
            and arrival.flow_category = flow.flow_category
            and arrival.flow_id = flow.flow_id
            and arrival.time_ns >= flow.time_ns
),

-- Empty for most traces.
call as materialized (
    select run_id, event_index, pid, tid, start_ns, duration_ns, end_ns, parent_index
    from intermediate.int_host_call
    where (run_id, pid, tid) in (select (run_id, pid, tid) from departure)
),

-- The innermost of the calls that start together on a thread.
started as (
    select run_id, pid, tid, start_ns, end_ns, event_index, parent_index
    from call
    qualify row_number() over (partition by run_id, pid, tid, start_ns order by duration_ns, event_index desc) = 1
),

climbing as (
    select
        departure.*,
        started.event_index as call_index,
        started.parent_index,
        started.end_ns
    from departure
    asof inner join started
        on
            departure.run_id = started.run_id
            and departure.pid = started.pid
            and departure.tid = started.tid
            and departure.time_ns >= started.start_ns
    union all
    select
        climbing.* exclude (call_index, parent_index, end_ns),
        call.event_index as call_index,
        call.parent_index,
        call.end_ns
    from climbing
    inner join call
        on climbing.run_id = call.run_id and climbing.parent_index = call.event_index
    where climbing.end_ns <= climbing.time_ns
)

select run_id, event_index, flow_category, call_index
from climbing
where time_ns < end_ns
qualify
    row_number() over (
        partition by run_id, event_index
        order by
            list_position(['ac2g', 'async_cpu_to_gpu', 'async_gpu', 'async'], flow_category) nulls last,
            flow_category,
            flow_index
    ) = 1
