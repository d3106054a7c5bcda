-- Modules with their first calls: one row per run and module.
--
-- @title First calls of modules
-- @grain run_id, module_path
-- @order run_id, module_path
-- @column run_id id Run
-- @column module_path name Names from the outermost module down: /Net_0/Linear_3
-- @column parent_path name Path of the parent module; NULL for an outermost one
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module
-- @column first_start_ns timestamp_ns Start of its first call
-- @column first_index id First call: position in the file
select
    run_id,
    module_path,
    parent_path,
    any_value(module_class) as module_class,
    any_value(module_level) as module_level,
    min(start_ns) as first_start_ns,
    min_by(event_index, start_ns) as first_index
from intermediate.int_module_call
group by run_id, module_path, parent_path
