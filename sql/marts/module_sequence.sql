-- Modules of a scope in the order of their first calls: one row per run, step and module; work outside any module comes
-- last.
--
-- @title Modules in order
-- @grain run_id, step, place
-- @order run_id, step, place
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column place id Position, from 1
-- @column parent_place id Position of the parent module
-- @column forward_name name Name of the module, without the mark of the backward pass
-- @column alignment_key name Its class, mapped by `op_name_map`: modules pair by it
-- @column is_wrapper flag Is it a wrapper? If the other side lacks it, the modules inside it pair in its place
with
module as not materialized (
    select
        run_id,
        step,
        forward_name,
        any_value(replace(parent_name, '[ BACKWARD ]', '')) as parent_name,
        any_value(module_class) as module_class,
        min(first_start_ns) as first_start_ns
    from intermediate.int_module_time
    group by run_id, step, forward_name
),

placed as not materialized (
    select
        *,
        row_number() over (partition by run_id, step order by forward_name = '', first_start_ns, forward_name) as place
    from module
)

select
    placed.run_id,
    placed.step,
    placed.place,
    parent.place as parent_place,
    placed.forward_name,
    macros.mapped_name(coalesce(class.paired_class, placed.module_class, '')) as alignment_key,
    coalesce(class.is_wrapper, false) as is_wrapper
from placed
left join intermediate.int_module_class as class
    on placed.run_id = class.run_id and placed.module_class = class.module_class
left join placed as parent
    on
        placed.run_id = parent.run_id
        and macros.scope(placed.step) = macros.scope(parent.step)
        and placed.parent_name = parent.forward_name
