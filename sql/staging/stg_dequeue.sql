-- Work that a thread took off the task queue, as recorded: one row per dequeue event.
--
-- @title Dequeues as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the event belongs to
-- @column event_index id Position of the event in the file
-- @column dequeue_name name Name of the work
-- @column correlation id Correlation id of the enqueue
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
select
    run_id,
    event_index,
    event_name as dequeue_name,
    correlation,
    start_ns,
    start_ns + duration_ns as end_ns
from staging.stg_event
where event_kind = 'dequeue' and start_ns is not null and duration_ns >= 0
