-- Paths of modules: one row per run and path of calls of nn.Modules.
--
-- The path joins the names of the module calls around a call, outermost first.
--
-- @title Paths of modules
-- @grain run_id, path
-- @order run_id, path
-- @column run_id id Run
-- @column path id Number of the path within the run
-- @column module_path name Names from the outermost module down: /Net_0/Linear_3
-- @column parent_path name Path of the parent module; NULL for an outermost one
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module
with recursive
module as (
    select distinct run_id, path, parent_path as parent, module_name
    from intermediate.int_call_walk
    where path is not null
),

placed as (
    select run_id, path, '/' || module_name as module_path, null::varchar as parent_path, module_name, 1 as module_level
    from module
    where parent is null
    union all
    select
        module.run_id,
        module.path,
        placed.module_path || '/' || module.module_name as module_path,
        placed.module_path as parent_path,
        module.module_name,
        placed.module_level + 1 as module_level
    from placed
    inner join module on placed.run_id = module.run_id and placed.path = module.parent
)

select
    run_id,
    path,
    module_path,
    parent_path,
    regexp_replace(module_name, '_[0-9]+$', '') as module_class,
    module_level
from placed
