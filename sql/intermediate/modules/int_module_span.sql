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
thread as (
    select run_id, pid, tid, row_number() over (order by run_id, pid, tid) as thread
    from (select distinct run_id, pid, tid from intermediate.int_python_function)
),

-- What a recursion joins stays in memory, so its rows are numbers alone.
function as materialized (
    select
        run.run_number,
        thread.thread,
        function.event_index,
        function.python_id,
        function.python_parent_id,
        function.module_name is not null as is_module
    from intermediate.int_python_function as function
    inner join intermediate.int_run_number as run on function.run_id = run.run_id
    inner join thread
        on function.run_id = thread.run_id and function.pid = thread.pid and function.tid = thread.tid
    qualify row_number() over (partition by run.run_number, function.python_id order by function.event_index) = 1
),

walked as (
    select
        function.run_number,
        function.thread,
        function.event_index,
        function.python_id,
        case when function.is_module then function.event_index end as module_index,
        null::bigint as parent_module_index,
        null::bigint as outer_module_index,
        0 as tree_depth
    from function
    anti join function as caller
        on function.run_number = caller.run_number and function.python_parent_id = caller.python_id
    union all
    select
        function.run_number,
        function.thread,
        function.event_index,
        function.python_id,
        case when function.is_module then function.event_index else caller.module_index end as module_index,
        caller.module_index as parent_module_index,
        case when caller.thread = function.thread then caller.module_index end as outer_module_index,
        caller.tree_depth + 1 as tree_depth
    from walked as caller
    inner join function
        on caller.run_number = function.run_number and caller.python_id = function.python_parent_id
),

placed as materialized (
    select
        run.run_id,
        walked.event_index,
        walked.module_index,
        walked.parent_module_index,
        walked.outer_module_index,
        walked.tree_depth,
        function.pid,
        function.tid,
        function.start_ns,
        function.end_ns
    from walked
    inner join intermediate.int_run_number as run on walked.run_number = run.run_number
    inner join intermediate.int_python_function as function
        on run.run_id = function.run_id and walked.event_index = function.event_index
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
        from placed
        where end_ns > start_ns and module_index is distinct from outer_module_index
    )
    group by run_id, pid, tid, start_ns
)

select
    placed.run_id,
    placed.event_index,
    placed.module_index,
    placed.parent_module_index,
    placed.pid,
    placed.tid,
    placed.start_ns,
    placed.end_ns
from placed
asof left join told
    on
        placed.run_id = told.run_id
        and placed.pid = told.pid
        and placed.tid = told.tid
        and placed.start_ns >= told.start_ns
where
    placed.module_index = placed.event_index
    or placed.module_index is distinct from placed.outer_module_index
    or (placed.module_index is distinct from told.module_index and placed.end_ns > placed.start_ns)
