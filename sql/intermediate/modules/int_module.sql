-- Modules: one row per run and module, which is a path of calls of nn.Modules, or the name of a call of the optimizer.
--
-- @title Modules
-- @grain run_id, module
-- @order run_id, module
-- @materialized
-- @column run_id id Run
-- @column module id Number of the module in the run; below 0 for the optimizer
-- @column parent_module id Number of the parent module; NULL for an outermost one
-- @column module_path name Names from the outermost module down: /Net_0/Linear_3
-- @column parent_path name Path of the parent module
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module
-- @column is_optimizer flag Is it the optimizer?
-- @column first_start_ns timestamp_ns Start of its first call
-- @column first_index id First call: position in the file
with recursive
called as (
    select
        run_id,
        path as module,
        parent_path as parent_module,
        any_value(module_name) as module_name,
        min(start_ns) as first_start_ns,
        min_by(event_index, start_ns) as first_index
    from intermediate.int_call_walk
    where path is not null
    group by run_id, path, parent_path
),

placed as (
    select *, '/' || module_name as module_path, null::varchar as parent_path, 1 as module_level
    from called
    where parent_module is null
    union all
    select
        called.*,
        placed.module_path || '/' || called.module_name as module_path,
        placed.module_path as parent_path,
        placed.module_level + 1 as module_level
    from placed
    inner join called on placed.run_id = called.run_id and placed.module = called.parent_module
)

select
    run_id,
    module,
    parent_module,
    module_path,
    parent_path,
    regexp_replace(module_name, '_[0-9]+$', '') as module_class,
    module_level,
    false as is_optimizer,
    first_start_ns,
    first_index
from placed
union all by name
select
    run_id,
    -row_number() over (partition by run_id order by call_name) as module,
    call_name as module_path,
    call_name as module_class,
    1 as module_level,
    true as is_optimizer,
    min(start_ns) as first_start_ns,
    min_by(event_index, start_ns) as first_index
from intermediate.int_host_call
where optimizer_index = event_index
group by run_id, call_name
