-- Calls of nn.Modules and of the optimizer: one row per call.
--
-- An outermost call named `Optimizer.…` counts as a module, whose path is that name.
--
-- @title Module calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Position of the call in the file
-- @column module_path name Names from the outermost module down: /Net_0/Linear_3
-- @column parent_path name Path of the parent module; NULL for an outermost one
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module
-- @column is_optimizer flag Is it a call of the optimizer?
-- @column parent_module_index id Module call around it
-- @column step id Step that it started in
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
select
    walk.run_id,
    walk.event_index,
    path.module_path,
    path.parent_path,
    path.module_class,
    path.module_level,
    false as is_optimizer,
    walk.parent_module_index,
    walk.step,
    walk.start_ns,
    walk.end_ns
from intermediate.int_call_walk as walk
inner join intermediate.int_module_path as path on walk.run_id = path.run_id and walk.path = path.path
union all by name
select
    run_id,
    event_index,
    call_name as module_path,
    call_name as module_class,
    1 as module_level,
    true as is_optimizer,
    step,
    start_ns,
    end_ns
from intermediate.int_host_call
where optimizer_index = event_index
