-- Types of operators' inputs, as recorded: one row per operator call that has them.
--
-- @title Inputs of operators as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the call belongs to
-- @column event_index id Position of the call in the file
-- @column input_types text Types of the inputs, JSON
select run_id, event_index, input_types
from staging.stg_event
where event_kind = 'operator' and input_types is not null
