-- Flows from forward operators to their backward operators: one row per start or end of a fwdbwd flow.
--
-- @title Forward-backward flows as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the flow belongs to
-- @column event_index id Position of the event in the file
-- @column flow_id id Id that both ends share
-- @column is_backward flag Is it the end, at a backward operator?
-- @column pid id Process
-- @column tid id Thread
-- @column time_ns timestamp_ns Start of the operator
select
    run_id,
    event_index,
    flow_id,
    phase = 'f' as is_backward,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns as time_ns
from raw.event
where phase in ('s', 'f') and lower(category) = 'fwdbwd' and start_ns is not null
