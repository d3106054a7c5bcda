-- Allocations and frees of device memory: one row per memory event, or per allocation with its release.
--
-- The next event of its address releases an allocation if it is a free; if it is another allocation, the block was
-- allocated twice. A free without an earlier allocation is unmatched: its block was allocated before the recording.
-- None of this is known of events without an address. The operator is the innermost one open on the thread.
--
-- Ascend profilers write an allocation with its release and its operator. If that is an operator of CANN (`cann::`),
-- the allocation belongs to the framework operator that enqueued the work, found by the dequeue open at that time.
--
-- @title Allocations
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the event in the file
-- @column step id Step that it happened in
-- @column device id Device
-- @column time_ns timestamp_ns Time of the event
-- @column bytes bytes Allocated (above zero) or freed (below zero)
-- @column operator_name name Innermost operator open on the thread, or `(no operator)`
-- @column held_ns duration_ns Time until the free; NULL if it is not freed in the recording
-- @column is_allocated_twice flag Is the next event of the address another allocation? NULL for an allocation without an address
-- @column is_unmatched_free flag Is it a free without an earlier allocation? NULL for a free without an address
-- @column total_allocated_bytes bytes Allocated on the device after the event
-- @column total_reserved_bytes bytes Reserved by the allocator after the event
with
event as (
    select
        *,
        case when address is not null then lead(bytes) over by_address end as next_bytes,
        case when address is not null then lead(time_ns) over by_address end as next_time_ns,
        case when address is not null then lag(bytes) over by_address end as previous_bytes
    from staging.stg_memory_event
    window by_address as (partition by run_id, pid, device, address order by time_ns, event_index)
),

marker as (
    select run_id, step, start_ns, end_ns
    from intermediate.int_step
    where start_ns is not null
),

enqueued as (
    select enqueue.run_id, enqueue.correlation, min_by(operator.call_name, enqueue.event_index) as operator_name
    from intermediate.int_host_call as enqueue
    inner join intermediate.int_host_call as operator
        on enqueue.run_id = operator.run_id and enqueue.operator_index = operator.event_index
    where enqueue.call_kind = 'enqueue'
    group by enqueue.run_id, enqueue.correlation
),

recorded as (
    select
        allocation.*,
        case
            when
                allocation.operator_name like 'cann::%' and allocation.time_ns < dequeue.end_ns
                then dequeue.correlation
        end as correlation
    from staging.stg_allocation as allocation
    asof left join staging.stg_dequeue as dequeue
        on allocation.run_id = dequeue.run_id and allocation.time_ns >= dequeue.start_ns
)

select
    event.run_id,
    event.event_index,
    walk.step,
    event.device,
    event.time_ns,
    event.bytes,
    coalesce(operator.call_name, '(no operator)') as operator_name,
    case when event.bytes > 0 and event.next_bytes < 0 then event.next_time_ns - event.time_ns end as held_ns,
    case
        when
            event.address is not null or event.bytes <= 0
            then event.bytes > 0 and coalesce(event.next_bytes > 0, false)
    end as is_allocated_twice,
    case
        when
            event.address is not null or event.bytes >= 0
            then event.bytes < 0 and coalesce(event.previous_bytes < 0, true)
    end as is_unmatched_free,
    event.total_allocated_bytes,
    event.total_reserved_bytes
from event
inner join intermediate.int_call_walk as walk
    on event.run_id = walk.run_id and event.event_index = walk.event_index
left join intermediate.int_host_call as operator
    on walk.run_id = operator.run_id and walk.operator_index = operator.event_index
union all by name
select
    recorded.run_id,
    recorded.event_index,
    case when recorded.time_ns < marker.end_ns then marker.step end as step,
    coalesce(recorded.device, 0) as device,
    recorded.time_ns,
    recorded.bytes,
    coalesce(enqueued.operator_name, recorded.operator_name, '(no operator)') as operator_name,
    recorded.held_ns,
    false as is_allocated_twice,
    false as is_unmatched_free,
    recorded.total_allocated_bytes,
    recorded.total_reserved_bytes
from recorded
left join enqueued
    on recorded.run_id = enqueued.run_id and recorded.correlation = enqueued.correlation
asof left join marker
    on recorded.run_id = marker.run_id and recorded.time_ns >= marker.start_ns
