-- Flows that may lead from a launch to a device activity, as recorded: one row per start or end of a flow.
--
-- Kineto has its own category for them; other writers use other names, so the category alone does not identify them.
-- Some writers end a flow with an event that the format calls a step (t); it counts as an end. Flows between operators
-- (fwdbwd) and those of Ascend devices are left out.
--
-- @title Flows of launches as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the flow belongs to
-- @column event_index id Position of the event in the file
-- @column flow_category category Category, in lower case
-- @column flow_id id Id that both ends share within the category
-- @column is_arrival flag Is it the end?
-- @column pid id Process or device
-- @column tid id Thread or stream
-- @column time_ns timestamp_ns Time on the track at which it starts or ends
select
    run_id,
    event_index,
    coalesce(lower(category), '') as flow_category,
    flow_id,
    phase <> 's' as is_arrival,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns as time_ns
from raw.event
where
    phase in ('s', 't', 'f')
    and coalesce(lower(category), '') not in ('fwdbwd', 'async_npu')
    and start_ns is not null
    and flow_id is not null
