-- Operators inside others, in numbers: one row per operator call with an operator around it.
--
-- What climbs from operators to those around reads it, and no more than it: the joins of a recursion cannot spill.
--
-- @title Operators inside others
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column run_number id Number of the run
-- @column event_index id Place of the call in the file
-- @column parent_operator_index id Innermost operator around it
select run.run_id, run.run_number, operator.event_index, operator.parent_operator_index
from intermediate.int_host_call as operator
inner join intermediate.int_run_number as run on operator.run_id = run.run_id
where operator.call_kind = 'operator' and operator.parent_operator_index is not null
