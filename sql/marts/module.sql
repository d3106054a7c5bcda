-- nn.Modules and the device time that they launched: one row per run, step and module.
--
-- The name of a module joins the names of its parents and its own: /Net_0/Linear_3. Its backward pass is a row of its
-- own, `[ BACKWARD ]/Net_0/Linear_3`. Work inside an optimizer call has that call's name, and work outside any module
-- the empty name, so self times sum to the device total. A module that runs again in the backward pass (activation
-- checkpointing) counts as in the forward pass. A run without calls of modules or of the optimizer has no rows.
--
-- @title Modules
-- @grain run_id, step, module_name
-- @order run_id, step, device_total_duration_ns desc, module_name
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column module_name name Names from the outermost module down
-- @column parent_name name Name of the parent module
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module; 0 outside any module
-- @column is_backward flag Is it the backward pass?
-- @column forward_name name Name of the module without the mark of the backward pass
-- @column first_start_ns timestamp_ns Start of the module's first call in the run; for a backward pass, of the first forward call
-- @column call_stack text Python functions around that call, outermost first, one per line
-- @column call_count count Calls on the host; NULL for the backward pass, which has no calls of its own
-- @column host_duration_ns duration_ns Sum of their durations
-- @column device_activity_count count Device activities launched, without nested modules; NULL if the run has none
-- @column device_self_duration_ns duration_ns Sum of their durations, without nested modules
-- @column device_total_duration_ns duration_ns Sum of durations, with nested modules
select
    time.run_id,
    time.step,
    time.module_name,
    time.parent_name,
    time.module_class,
    time.module_level,
    time.is_backward,
    time.forward_name,
    time.first_start_ns,
    stack.call_stack,
    time.call_count,
    time.host_duration_ns,
    time.device_activity_count,
    time.device_self_duration_ns,
    time.device_total_duration_ns
from intermediate.int_module_time as time
left join intermediate.int_module_stack as stack on time.run_id = stack.run_id and time.first_index = stack.first_index
