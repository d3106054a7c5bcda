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
select
    operator.run_id,
    operator.top_operator_index as event_index,
    launch.event_index as activity_index,
    operator.top_operator_index = operator.event_index as is_own
from intermediate.int_activity_launch as launch
inner join intermediate.int_host_call as operator
    on launch.run_id = operator.run_id and launch.operator_index = operator.event_index
union all by name
select
    outer_one.run_id,
    outer_one.event_index,
    launch.event_index as activity_index,
    outer_one.event_index = own.event_index as is_own
from intermediate.int_activity_launch as launch
inner join intermediate.int_operator_walk as own
    on launch.run_id = own.run_id and launch.operator_index = own.event_index
inner join intermediate.int_operator_walk as outer_one
    on
        own.run_id = outer_one.run_id
        and own.position between outer_one.position and outer_one.last_position
        and not outer_one.is_outermost
where cast(getvariable('max_kernel_num') as bigint) is not null
