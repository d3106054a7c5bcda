-- Calls that decide which nn.Module a thread is in: one row per module call, and one row per function that is in another module than the calls around it tell.
--
-- Functions are walked from the roots down, each once, carrying the nearest module. A function whose caller is not in the
-- trace is a root. The caller may be on another thread, and profilers have been seen to record a caller further up than
-- the real one; such a function is in its caller's module, whatever is around it in time.
--
-- @title Spans of modules
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column module_index id Innermost module call that it is in: itself, for a module call
-- @column parent_module_index id Module call around it
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
with recursive
function as materialized (
    select * exclude (function_name, module_name), module_name is not null as is_module
    from intermediate.int_python_function
    qualify row_number() over (partition by run_id, python_id order by event_index) = 1
),

walked as materialized (
    select
        function.*,
        case when function.is_module then function.event_index end as module_index,
        null::bigint as parent_module_index,
        null::bigint as outer_module_index,
        0 as tree_depth
    from function
    anti join function as caller
        on function.run_id = caller.run_id and function.python_parent_id = caller.python_id
    union all
    select
        function.*,
        case when function.is_module then function.event_index else caller.module_index end as module_index,
        caller.module_index as parent_module_index,
        case when caller.pid = function.pid and caller.tid = function.tid then caller.module_index end as outer_module_index,
        caller.tree_depth + 1 as tree_depth
    from walked as caller
    inner join function
        on caller.run_id = function.run_id and caller.python_id = function.python_parent_id
),

told as (
    select
        run_id,
        pid,
        tid,
        start_ns,
        max_by({'module_index': module_index}, place).module_index as module_index
    from (
        select
            run_id,
            pid,
            tid,
            unnest([start_ns, end_ns]) as start_ns,
            unnest([module_index, outer_module_index]) as module_index,
            unnest([tree_depth, -1 - tree_depth]) as place
        from walked
        where end_ns > start_ns and module_index is distinct from outer_module_index
    )
    group by run_id, pid, tid, start_ns
)

select
    walked.run_id,
    walked.event_index,
    walked.module_index,
    walked.parent_module_index,
    walked.pid,
    walked.tid,
    walked.start_ns,
    walked.end_ns
from walked
asof left join told
    on
        walked.run_id = told.run_id
        and walked.pid = told.pid
        and walked.tid = told.tid
        and walked.start_ns >= told.start_ns
where
    walked.is_module
    or walked.module_index is distinct from walked.outer_module_index
    or (walked.module_index is distinct from told.module_index and walked.end_ns > walked.start_ns)
