-- Flows from the framework to an Ascend device, as recorded: one row per start or end of a flow.
--
-- A flow starts at the launching operator (torch_to_npu, mindspore_to_npu) and ends at the task or collective. Its id
-- is text: MindSpore's ids are times in microseconds with decimals, which must match digit by digit.
--
-- @title Flows to the device
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the flow belongs to
-- @column event_index id Position of the event in the file
-- @column flow_id id Id that both ends share
-- @column is_arrival flag Is it the end, at the device?
-- @column pid id Process
-- @column tid id Thread
-- @column time_ns timestamp_ns Start of the operator, task or collective
select
    run_id,
    event_index,
    flow_id,
    phase = 'f' as is_arrival,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns as time_ns
from raw.event
where
    phase in ('s', 'f')
    and lower(category) = 'async_npu'
    and start_ns is not null
    and flow_id is not null
