-- Which module call is around on a thread, over time: one row per place where that changes, valid until the next of the thread.
--
-- A sweep over starts and ends counts the spans that are open: the span around one with n open is the last before it
-- with n - 1. One that ends where another starts is closed there; one without length is around nothing.
--
-- @title Timelines of module calls
-- @grain run_id, pid, tid, start_ns
-- @order run_id, pid, tid, start_ns
-- @materialized
-- @column run_id id Run
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns From here on
-- @column module_index id Innermost module call; NULL outside
with
point as (
    select
        run_id,
        pid,
        tid,
        event_index,
        module_index,
        end_ns - start_ns as length_ns,
        unnest([start_ns, end_ns]) as time_ns,
        unnest([1, -1]) as change
    from intermediate.int_module_span
    where end_ns > start_ns
),

swept as (
    select *, row_number() over along as position, sum(change) over along as open_count
    from point
    window along as (
        partition by run_id, pid, tid
        order by time_ns, change, length_ns desc, event_index
        rows between unbounded preceding and current row
    )
),

around as (
    select closing.*, opening.module_index as outer_module_index
    from (select * from swept where change = -1) as closing
    asof left join (select * from swept where change = 1) as opening
        on
            closing.run_id = opening.run_id
            and closing.pid = opening.pid
            and closing.tid = opening.tid
            and closing.open_count = opening.open_count
            and closing.position > opening.position
),

moment as (
    select run_id, pid, tid, time_ns as start_ns, max_by({'module_index': module_index}, position).module_index as module_index
    from (
        select run_id, pid, tid, time_ns, position, module_index from swept where change = 1
        union all by name
        select run_id, pid, tid, time_ns, position, case when open_count > 0 then outer_module_index end as module_index
        from around
    )
    group by run_id, pid, tid, time_ns
)

select run_id, pid, tid, start_ns, module_index
from moment
qualify module_index is distinct from lag(module_index) over (partition by run_id, pid, tid order by start_ns)
