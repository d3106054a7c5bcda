-- Operator calls of a scope in order: one row per run, step and operator call.
--
-- Outermost operators stand step by step, in each the forward pass, then the backward pass, then the calls of the optimizer. They
-- are paired only with their like: the n-th step with the n-th, forward with forward. Operators inside others are there
-- where the variable `max_kernel_num` asks to open operators. The variable `use_input_shape` makes shapes part of the key.
--
-- @title Operators in order
-- @grain run_id, step, place
-- @order run_id, step, place
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column place id Place, from 1
-- @column parent_place id Place of the operator around it
-- @column event_index id Place of the call in the file
-- @column alignment_key name What it is paired by
-- @column self_activity_count count Device activities that it launched itself
-- @column device_activity_count count The same with those of operators inside
with
scoped as (
    select
        operator.* exclude (step),
        operator.step as own_step,
        unnest(case when operator.step is null then [null] else [null, operator.step] end) as step,
        case
            when call.is_optimizer then macros.mapped_name(call.module_path)
            when root.is_backward then 'backward'
            else ''
        end as part
    from intermediate.int_operator_call as operator
    inner join intermediate.int_operator_call as root
        on operator.run_id = root.run_id and operator.top_operator_index = root.event_index
    left join intermediate.int_module_call as call
        on operator.run_id = call.run_id and root.module_index = call.event_index
    where
        operator.parent_operator_index is null
        or (cast(getvariable('max_kernel_num') as bigint) is not null and operator.device_activity_count > 0)
),

placed as not materialized (
    select
        *,
        dense_rank() over (partition by run_id, step order by own_step nulls first) as step_ordinal,
        row_number() over (
            partition by run_id, step
            order by own_step nulls first, part like 'Optimizer.%', part, start_ns, parent_operator_index nulls first, event_index
        ) as place
    from scoped
)

select
    placed.run_id,
    placed.step,
    placed.place,
    parent.place as parent_place,
    placed.event_index,
    concat_ws(
        chr(31),
        case when placed.parent_operator_index is null then format('{}{}', placed.step_ordinal, placed.part) end,
        macros.mapped_name(placed.operator_name),
        case when cast(getvariable('use_input_shape') as boolean) then placed.input_shapes end
    ) as alignment_key,
    placed.self_activity_count,
    placed.device_activity_count
from placed
left join placed as parent
    on
        placed.run_id = parent.run_id
        and placed.step is not distinct from parent.step
        and placed.parent_operator_index = parent.event_index
