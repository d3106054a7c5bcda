-- Device activities of operator calls: one row per activity and operator around its launch.
--
-- @title Launches by operator
-- @grain run_id, event_index, activity_index
-- @order run_id, event_index, activity_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Place of the operator call in the file
-- @column activity_index id Place of the activity in the file
-- @column is_own flag Did the operator launch it itself, not one inside of it?
-- @column is_outermost flag Is no operator around the operator?
with recursive
nested as materialized (select * exclude (run_id) from intermediate.int_nested_operator),

launched as (
    select run.run_number, launch.operator_index as event_index, launch.event_index as activity_index, true as is_own
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_run_number as run on launch.run_id = run.run_id
    where launch.operator_index is not null
    union all
    select launched.run_number, nested.parent_operator_index, launched.activity_index, false as is_own
    from launched
    inner join nested
        on launched.run_number = nested.run_number and launched.event_index = nested.event_index
)

select
    operator.run_id,
    launched.event_index,
    launched.activity_index,
    launched.is_own,
    operator.parent_operator_index is null as is_outermost
from launched
inner join intermediate.int_run_number as run on launched.run_number = run.run_number
inner join intermediate.int_host_call as operator
    on run.run_id = operator.run_id and launched.event_index = operator.event_index
