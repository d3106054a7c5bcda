-- Arrivals of flows on Ascend devices: one row per run, process and time.
--
-- @title Arrivals of flows
-- @grain run_id, pid, time_ns
-- @order run_id, pid, time_ns
-- @column run_id id Run
-- @column pid id Process that represents the device in the trace
-- @column time_ns timestamp_ns Time at which a flow ends
-- @column flow_index id Position of the first start of such a flow; NULL if it is not recorded
with
departure as (
    select run_id, flow_id, min(event_index) as flow_index
    from staging.stg_device_flow
    where not is_arrival
    group by run_id, flow_id
)

select flow.run_id, flow.pid, flow.time_ns, min(departure.flow_index) as flow_index
from staging.stg_device_flow as flow
left join departure on flow.run_id = departure.run_id and flow.flow_id = departure.flow_id
where flow.is_arrival
group by flow.run_id, flow.pid, flow.time_ns
