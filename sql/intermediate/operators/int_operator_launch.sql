-- Device activities of operator calls: one row per activity and operator around its launch.
--
-- Nested operators have rows only if the variable `max_kernel_num` asks to open operators.
--
-- @title Launches by operator
-- @grain run_id, event_index, activity_index
-- @order run_id, event_index, activity_index
-- @column run_id id Run
-- @column event_index id Position of the operator call in the file
-- @column activity_index id Position of the activity in the file
-- @column is_own flag Did the operator launch it itself, rather than a nested one?
with recursive
launched as (
    select run_id, event_index as activity_index, operator_index
    from intermediate.int_activity_launch
    where operator_index is not null
),

-- A recursion keeps its rows in memory, so they hold only numbers.
nested as materialized (
    select run.run_number, operator.event_index, operator.parent_operator_index
    from intermediate.int_host_call as operator
    inner join intermediate.int_run_number as run on operator.run_id = run.run_id
    where operator.parent_operator_index is not null and getvariable('max_kernel_num')::bigint is not null
),

inside as (
    select run.run_number, launched.operator_index as event_index, launched.activity_index, true as is_own
    from launched
    inner join intermediate.int_run_number as run on launched.run_id = run.run_id
    where getvariable('max_kernel_num')::bigint is not null
    union all
    select inside.run_number, nested.parent_operator_index, inside.activity_index, false as is_own
    from inside
    inner join nested on inside.run_number = nested.run_number and inside.event_index = nested.event_index
)

select
    operator.run_id,
    operator.top_operator_index as event_index,
    launched.activity_index,
    operator.top_operator_index = operator.event_index as is_own
from launched
inner join intermediate.int_host_call as operator
    on launched.run_id = operator.run_id and launched.operator_index = operator.event_index
union all by name
select run.run_id, inside.event_index, inside.activity_index, inside.is_own
from inside
inner join nested on inside.run_number = nested.run_number and inside.event_index = nested.event_index
inner join intermediate.int_run_number as run on inside.run_number = run.run_number
