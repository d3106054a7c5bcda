-- Operator calls of a scope in order: one row per run, step and operator call.
--
-- Outermost operators are ordered by step, and within a step by forward pass, backward pass, then optimizer. They pair
-- only within these: the n-th step with the n-th, forward with forward. Nested operators have rows only if the variable
-- `max_kernel_num` asks to open operators. The variable `use_input_shape` makes shapes part of the key.
--
-- @title Operators in order
-- @grain run_id, step, place
-- @order run_id, step, place
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column place id Position, from 1
-- @column event_index id Position of the call in the file
-- @column parent_operator_index id Innermost operator around it
-- @column alignment_key name Key that it pairs by
with
operator as not materialized (
    select
        operator.run_id,
        operator.event_index,
        operator.parent_operator_index,
        operator.step,
        operator.start_ns,
        macros.mapped_name(operator.operator_name) as operator_key,
        case when getvariable('use_input_shape')::boolean then operator.input_shapes end as shape_key,
        case
            when module.is_optimizer then macros.mapped_name(module.module_path)
            when root.is_backward then 'backward'
            else ''
        end as part
    from intermediate.int_operator_call as operator
    inner join intermediate.int_operator_call as root
        on operator.run_id = root.run_id and operator.top_operator_index = root.event_index
    left join intermediate.int_module_call as call
        on operator.run_id = call.run_id and root.module_index = call.event_index
    left join intermediate.int_module as module
        on call.run_id = module.run_id and call.module = module.module
    where
        operator.parent_operator_index is null
        or (getvariable('max_kernel_num')::bigint is not null and operator.device_activity_count > 0)
),

-- Two branches, so that a filter on the scope reaches the files.
scoped as not materialized (
    select * exclude (step), step as own_step, null::bigint as step from operator
    union all by name
    select * exclude (step), step as own_step, step from operator where step is not null
),

placed as (
    select
        *,
        dense_rank() over (partition by run_id, step order by own_step nulls first) as step_ordinal,
        row_number() over (
            partition by run_id, step
            order by
                own_step nulls first,
                part like 'Optimizer.%',
                part,
                start_ns,
                parent_operator_index nulls first,
                event_index
        ) as place
    from scoped
)

select
    run_id,
    step,
    place,
    event_index,
    parent_operator_index,
    concat_ws(
        chr(31),
        case when parent_operator_index is null then format('{}{}', step_ordinal, part) end,
        operator_key,
        shape_key
    ) as alignment_key
from placed
