-- Nodes of a scope in order: one row per run, step and node of the tree of module calls.
--
-- Modules pair by class and operators by name, both mapped by the variable `op_name_map`. The variable
-- `use_input_shape` makes the shapes of an operator part of its key. Forward pairs with forward, backward with
-- backward. An operator of a wrapper pairs only with operators of an equal wrapper, not with those of the module around
-- it or inside it.
--
-- @title Module calls in order
-- @grain run_id, step, node
-- @order run_id, step, node
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column node id Node; numbers follow the order
-- @column parent_node id Node of the module call that contains it
-- @column alignment_key name Key that it pairs by
-- @column is_wrapper flag Is it a call of a wrapper? If the other side lacks it, the modules inside it pair in its place
with
-- Two branches, so that a filter on the scope reaches the files.
scoped as not materialized (
    select * exclude (step), null::bigint as step from intermediate.int_module_node
    union all by name
    select * from intermediate.int_module_node where step is not null
)

select
    scoped.run_id,
    scoped.step,
    scoped.node,
    parent.node as parent_node,
    concat_ws(
        chr(31),
        case when scoped.is_backward then 'backward' else 'forward' end,
        case
            when scoped.is_operator then 'operator' || chr(31) || macros.mapped_name(scoped.operator_name)
            else macros.mapped_name(coalesce(class.paired_class, module.module_class))
        end,
        case when scoped.is_operator and class.is_wrapper then class.paired_class end,
        case when getvariable('use_input_shape')::boolean then operator.input_shapes end
    ) as alignment_key,
    coalesce(class.is_wrapper and not scoped.is_operator, false) as is_wrapper
from scoped
left join intermediate.int_module_call as call
    on scoped.run_id = call.run_id and scoped.module_index = call.event_index
left join intermediate.int_module as module
    on call.run_id = module.run_id and call.module = module.module
left join intermediate.int_module_class as class
    on scoped.run_id = class.run_id and module.module_class = class.module_class
left join intermediate.int_operator_call as operator
    on scoped.run_id = operator.run_id and scoped.operator_index = operator.event_index
left join intermediate.int_module_node as parent
    on
        scoped.run_id = parent.run_id
        and scoped.parent_module_index = parent.module_index
        and scoped.is_backward = parent.is_backward
        and not parent.is_operator
