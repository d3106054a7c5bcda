-- Calls of MindSpore's framework as recorded: one row per complete event of its process, which has no category.
--
-- The process is told by its name: MindSpore has the calls of the framework, CPU OP the operators that the host itself executes. What
-- Scope Layer shows are the layers of the network over the time of their kernels: no calls.
--
-- @title Framework calls without a category
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the event in the file
-- @column call_name name Name as recorded
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
select
    run_id,
    event_index,
    coalesce(name, '') as call_name,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns,
    duration_ns
from raw.event
where
    phase = 'X'
    and coalesce(category, '') = ''
    and (run_id, coalesce(pid, '')) in (
        select (run_id, coalesce(pid, ''))
        from raw.event
        where phase = 'M' and name = 'process_name' and args ->> '$.name' in ('MindSpore', 'CPU OP')
    )
