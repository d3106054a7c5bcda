-- Collectives according to CANN's communication analysis: one row per operation and step.
--
-- @title Analysed collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the row in the run
-- @column step id Step
-- @column operation_kind category collective or p2p
-- @column operation_name name Name of the operation
-- @column process_group name Group
-- @column start_ns timestamp_ns Start
-- @column elapsed_ns duration_ns Duration
-- @column transit_ns duration_ns Time spent on transfers
-- @column wait_ns duration_ns Time spent waiting
-- @column synchronization_ns duration_ns Time spent waiting before the first transfer
-- @column idle_ns duration_ns Remaining time
select
    run_id,
    event_index,
    try_cast(step as bigint) as step,
    kind as operation_kind,
    name as operation_name,
    process_group,
    start_ns,
    elapsed_ns,
    transit_ns,
    wait_ns,
    synchronization_ns,
    idle_ns
from raw.communication
where source = 'communication'
