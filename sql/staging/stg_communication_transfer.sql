-- Transfers of collectives by transport as CANN's own analysis has them: one row per operation, step and transport.
--
-- @title Analysed transfers
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the row in the run
-- @column step id Step
-- @column operation_name name Name of the operation
-- @column process_group name Group
-- @column transport category RDMA, SDMA (of which HCCS, PCIE and SIO are the links)
-- @column bytes bytes Bytes moved
-- @column transit_ns duration_ns Time of the transfers
select
    run_id,
    event_index,
    try_cast(step as bigint) as step,
    name as operation_name,
    process_group,
    upper(transport) as transport,
    bytes,
    transit_ns
from raw.communication
where source = 'bandwidth' and transport is not null
