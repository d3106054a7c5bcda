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
-- @column module id Module that is called
-- @column parent_module_index id Module call around it
-- @column step id Step that it started in
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
select run_id, event_index, path as module, parent_module_index, step, start_ns, end_ns
from intermediate.int_call_walk
where path is not null
union all by name
select call.run_id, call.event_index, module.module, call.step, call.start_ns, call.end_ns
from intermediate.int_host_call as call
inner join intermediate.int_module as module
    on call.run_id = module.run_id and call.call_name = module.module_path and module.is_optimizer
where call.optimizer_index = call.event_index
