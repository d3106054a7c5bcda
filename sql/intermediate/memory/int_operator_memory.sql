-- Device memory that outermost operators allocated: one row per outermost operator call that allocated.
--
-- @title Memory of operator calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the outermost operator call in the file
-- @column allocations text Operator, bytes and nanoseconds until the free of each allocation, one per line
-- @column allocation_count count Allocations
-- @column allocated_bytes bytes Sum of their sizes
select
    allocation.run_id,
    walk.top_operator_index as event_index,
    string_agg(
        format(
            '{}, {} bytes, {}',
            allocation.operator_name,
            allocation.bytes,
            case
                when allocation.held_ns is not null then allocation.held_ns || ' ns'
                when allocation.is_allocated_twice is null then 'release unknown'
                else 'not freed'
            end
        ),
        chr(10)
        order by allocation.time_ns, allocation.event_index
    ) as allocations,
    count(*) as allocation_count,
    sum(allocation.bytes)::bigint as allocated_bytes
from intermediate.int_allocation as allocation
inner join intermediate.int_call_walk as walk
    on allocation.run_id = walk.run_id and allocation.event_index = walk.event_index
where allocation.bytes > 0 and walk.top_operator_index is not null
group by allocation.run_id, walk.top_operator_index
