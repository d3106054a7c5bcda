-- Nodes of a scope in order: one row per run, step and node of the tree of module calls.
--
-- Modules are paired by their class, operators by their name, mapped by the variable `op_name_map`; the variable
-- `use_input_shape` makes the shapes of an operator part of its key. Forward pairs with forward, backward with backward. An operator
-- of a wrapper pairs with those of such a wrapper only, not with those of the module around it or in it.
--
-- @title Module calls in order
-- @grain run_id, step, place
-- @order run_id, step, place
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column place id Place, from 1
-- @column parent_place id Place of the module call that it is in
-- @column node id Node
-- @column alignment_key name What it is paired by
-- @column is_wrapper flag Is it a call of a wrapper, in whose place what it wraps is paired where the other side lacks it?
with
scoped as not materialized (
    select * exclude (step), unnest(case when step is null then [null] else [null, step] end) as step
    from intermediate.int_module_node
),

placed as not materialized (
    select *, row_number() over (partition by run_id, step order by node) as place
    from scoped
)

select
    placed.run_id,
    placed.step,
    placed.place,
    parent.place as parent_place,
    placed.node,
    concat_ws(
        chr(31),
        case when placed.is_backward then 'backward' else 'forward' end,
        case
            when placed.is_operator then 'operator' || chr(31) || macros.mapped_name(placed.operator_name)
            else macros.mapped_name(coalesce(class.paired_class, call.module_class))
        end,
        case when placed.is_operator and class.is_wrapper then class.paired_class end,
        case when cast(getvariable('use_input_shape') as boolean) then operator.input_shapes end
    ) as alignment_key,
    coalesce(class.is_wrapper and not placed.is_operator, false) as is_wrapper
from placed
left join intermediate.int_module_call as call
    on placed.run_id = call.run_id and placed.module_index = call.event_index
left join intermediate.int_module_class as class
    on placed.run_id = class.run_id and call.module_class = class.module_class
left join intermediate.int_operator_call as operator
    on placed.run_id = operator.run_id and placed.operator_index = operator.event_index
left join (select * from placed where not is_operator) as parent
    on
        placed.run_id = parent.run_id
        and placed.step is not distinct from parent.step
        and placed.parent_module_index = parent.module_index
        and placed.is_backward = parent.is_backward
