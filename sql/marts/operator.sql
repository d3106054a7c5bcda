-- Top-level operators and the device time that they launched: one row per run, step and operator name.
--
-- Device time without an operator has rows of its own, named in parentheses after the reason: no operator around the
-- launch, no launch in the trace, or a graph launch. The rows sum to the device total. A call that outlasts every
-- operator around its start is an outermost one from then on, and counts.
--
-- @title Operators
-- @grain run_id, step, operator_name
-- @order run_id, step, device_duration_ns desc, operator_name
-- @materialized
-- @comparison operator_total_comparison
-- @key operator_name
-- @measure device_duration_ns sum, difference, ratio, rank
-- @measure device_activity_count sum, difference
-- @measure call_count sum, difference
-- @measure host_duration_ns sum, difference, rank
-- @counted call_count
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column operator_name name Top-level operator, or the reason for its absence
-- @column call_count count Calls on the host; NULL for device time without an operator
-- @column host_duration_ns duration_ns Sum of their durations on the host
-- @column device_activity_count count Device activities launched (NULL if the run has none)
-- @column device_duration_ns duration_ns Sum of their durations
with
-- Threads on which calls overlap without nesting: most traces have none.
crossed as (
    select distinct run_id, pid, tid from intermediate.int_host_call where outlives_parent
),

outlasting as (
    select call.*
    from intermediate.int_host_call as call
    inner join crossed on call.run_id = crossed.run_id and call.pid = crossed.pid and call.tid = crossed.tid
    inner join intermediate.int_host_call as outermost
        on call.run_id = outermost.run_id and call.top_operator_index = outermost.event_index
    where call.call_kind = 'operator' and call.end_ns > outermost.end_ns
    -- A call around it that ends later outlasts its own outermost operator, too: comparing within this set is enough.
    qualify call.end_ns > coalesce(
        max(call.end_ns) over (
            partition by call.run_id, call.pid, call.tid order by call.start_ns, call.end_ns desc, call.event_index
            rows between unbounded preceding and 1 preceding
        ),
        call.start_ns
    )
),

host as (
    select
        run_id, step, call_name as operator_name, count(*) as call_count, sum(duration_ns)::bigint as host_duration_ns
    from (
        select run_id, step, call_name, duration_ns
        from intermediate.int_host_call
        where call_kind = 'operator' and top_operator_index = event_index
        union all by name
        select run_id, step, call_name, duration_ns from outlasting
    )
    group by grouping sets ((run_id, call_name), (run_id, step, call_name))
    having grouping(step) = 1 or step is not null
),

device as (
    select
        run_id,
        step,
        top_operator_name as operator_name,
        count(*) as device_activity_count,
        sum(duration_ns)::bigint as device_duration_ns
    from intermediate.int_device_activity
    where quarantine_reason is null
    group by grouping sets ((run_id, top_operator_name), (run_id, step, top_operator_name))
    having grouping(step) = 1 or step is not null
),

name as (
    select run_id, step, operator_name from host
    union
    select run_id, step, operator_name from device
)

select
    name.run_id,
    name.step,
    name.operator_name,
    coalesce(host.call_count, case when known.operator_name is not null then 0 end) as call_count,
    coalesce(host.host_duration_ns, case when known.operator_name is not null then 0 end) as host_duration_ns,
    case when size.device_activity_count > 0 then coalesce(device.device_activity_count, 0) end
        as device_activity_count,
    case when size.device_activity_count > 0 then coalesce(device.device_duration_ns, 0) end as device_duration_ns
from name
left join intermediate.int_run_size as size on name.run_id = size.run_id
left join host as known
    on name.run_id = known.run_id and known.step is null and name.operator_name = known.operator_name
left join host
    on
        name.run_id = host.run_id
        and name.step is not distinct from host.step
        and name.operator_name = host.operator_name
left join device
    on
        name.run_id = device.run_id
        and name.step is not distinct from device.step
        and name.operator_name = device.operator_name
