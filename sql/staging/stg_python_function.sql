-- Python functions as recorded: one row per call of a function or nn.Module with a usable time.
--
-- The profiler numbers calls and records the caller's number. On Ascend devices an outermost function records its own
-- number, and has no caller here. `module_name` is the instance, such as Linear_3.
--
-- @title Python functions as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the call belongs to
-- @column event_index id Position of the event in the file
-- @column python_id id Number of the call
-- @column python_parent_id id Number of the caller
-- @column function_name name Name as recorded
-- @column module_name name Instance of nn.Module that is called; NULL for any other function
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
select
    run_id,
    event_index,
    python_id,
    nullif(python_parent_id, python_id) as python_parent_id,
    event_name as function_name,
    case when starts_with(event_name, 'nn.Module: ') then substr(event_name, 12) end as module_name,
    pid,
    tid,
    start_ns,
    start_ns + duration_ns as end_ns
from staging.stg_event
where event_kind = 'python function' and start_ns is not null and duration_ns >= 0
