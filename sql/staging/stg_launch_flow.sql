-- Flows that may lead from a launch to a device activity, as recorded: one row per start or end of a flow.
--
-- Kineto writes them in a category of their own; other writers have other names for it, and no category is told from the name alone.
-- What some writers call a step of a flow (t) is its end, too. Flows between operators (fwdbwd) and those of Ascend devices are known, and left out.
--
-- @title Flows of launches as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the flow belongs to
-- @column event_index id Position of the event in the file
-- @column flow_category category Category, in lower case
-- @column flow_id id Key that both ends share within the category
-- @column is_arrival flag Is it the end?
-- @column pid id Process or device
-- @column tid id Thread or stream
-- @column time_ns timestamp_ns Where on the track it starts or ends
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
