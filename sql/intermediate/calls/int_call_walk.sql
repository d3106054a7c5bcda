-- Calls and modules open around each host call: one row per host call, memory event, start of a fwdbwd flow, and call
-- of an nn.Module.
--
-- The parent is the innermost call of the same thread that is still open at the start. A child may outlive its parent.
-- A call that ends where another starts is closed then; a call of zero length contains nothing. Memory events and
-- starts of flows count as calls of zero length. A Python function is in the module of its recorded caller; if the
-- profiler numbers no callers, in that of the innermost function around it. Anything else on the thread is in the
-- module of the innermost function open at its start. The step is the one whose host marker started last, if that
-- marker is still open.
--
-- @title Walk over host calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @walk calls
-- @column run_id id Run
-- @column event_index id Place in the file
-- @column parent_index id Innermost call around it; NULL at the root
-- @column inside_parent_ns duration_ns Part of its duration within that call
-- @column covered_ns duration_ns Part of its duration that its direct children cover
-- @column parent_operator_index id Innermost operator around it
-- @column operator_index id Innermost operator open at its start; an operator names itself
-- @column top_operator_index id Outermost operator open at its start; an outermost operator names itself
-- @column module_index id Innermost module call open at its start; a module call names itself
-- @column optimizer_index id Outermost call of the optimizer open at its start
-- @column step id Step that it started in
-- @column path id Number of a module call's path within the run, from 1
-- @column parent_path id Number of the parent module's path
-- @column parent_module_index id Module call around a module call
-- @column start_ns timestamp_ns Start of a module call
-- @column end_ns timestamp_ns End of a module call
-- @column module_name name Name of a module call
-- @column caller_indexes text Python functions around the first module call of a path, outermost first, then itself: positions in the file
with
entry as not materialized (
    select
        run_id,
        event_index,
        pid,
        tid,
        start_ns,
        end_ns,
        case when call_kind = 'operator' then 1 else 3 end
        + (starts_with(call_name, 'Optimizer.') and call_kind in ('annotation', 'operator'))::integer as row_kind
    from staging.stg_host_call
    union all by name
    select run_id, event_index, pid, tid, time_ns as start_ns, time_ns as end_ns, 5 as row_kind
    from staging.stg_memory_event
    union all by name
    select run_id, event_index, pid, tid, time_ns as start_ns, time_ns as end_ns, 5 as row_kind
    from staging.stg_forward_backward
    where not is_backward
    union all by name
    select
        run_id,
        event_index,
        pid,
        tid,
        start_ns,
        end_ns,
        case when module_name is null then 6 else 7 end as row_kind,
        python_id,
        python_parent_id,
        module_name
    from staging.stg_python_function
),

thread as materialized (
    select run_id, pid, tid, row_number() over (order by run_id, pid, tid) as thread
    from (select distinct run_id, pid, tid from entry)
)

select
    entry.run_id,
    thread.thread,
    entry.row_kind,
    entry.event_index,
    entry.start_ns,
    entry.end_ns,
    coalesce(entry.python_id, -1) as python_id,
    coalesce(entry.python_parent_id, -1) as python_parent_id,
    entry.module_name
from entry
inner join thread on entry.run_id = thread.run_id and entry.pid = thread.pid and entry.tid = thread.tid
union all by name
select
    run_id, 0 as thread, 0 as row_kind, step as event_index, start_ns, end_ns, -1 as python_id, -1 as python_parent_id
from intermediate.int_step
where start_ns is not null
order by start_ns, row_kind > 0, end_ns desc, event_index
