-- Transfers of collectives by transport, according to CANN's communication analysis: one row per operation, step and
-- transport.
--
-- @title Analysed transfers
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the row in the run
-- @column step id Step
-- @column operation_name name Name of the operation
-- @column process_group name Group
-- @column transport category RDMA or SDMA, or one of SDMA's links: HCCS, PCIE and SIO
-- @column bytes bytes Bytes moved
-- @column transit_ns duration_ns Transfer time
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
