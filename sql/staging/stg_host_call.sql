-- Host calls as recorded: one row per operator, annotation or runtime call with a usable time.
--
-- Step markers (ProfilerStep#N) are steps, not calls. On Ascend devices, the launches of an operator (starts of flows)
-- and the work that it enqueues for CANN are calls of zero length, which gives them a position in the call tree. No
-- table of calls lists them.
--
-- @title Host calls as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the call belongs to
-- @column event_index id Position of the event in the file
-- @column call_kind category operator, annotation or runtime; launch or enqueue on Ascend devices
-- @column call_name name Name of the call
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column correlation id Correlation id of what a runtime call launched or an operator enqueued
-- @column external_id id External id
-- @column sequence_number id Autograd sequence number, which a forward operator and its backward operators share; NULL if none
-- @column forward_thread id Thread of the forward operator, on a backward operator
-- @column input_shapes text Shapes of the inputs, JSON
select
    run_id,
    event_index,
    event_kind as call_kind,
    event_name as call_name,
    pid,
    tid,
    start_ns,
    duration_ns,
    start_ns + duration_ns as end_ns,
    case when correlation not in (0, -1) then correlation end as correlation,
    case when external_id not in (0, -1) then external_id end as external_id,
    case when sequence_number >= 0 then sequence_number end as sequence_number,
    forward_thread,
    input_shapes
from staging.stg_event
where
    event_kind in ('operator', 'annotation', 'runtime')
    and start_ns is not null
    and duration_ns >= 0
    and not macros.is_step_marker(event_name)
union all by name
select
    run_id,
    event_index,
    case when phase = 's' then 'launch' else 'enqueue' end as call_kind,
    coalesce(name, '') as call_name,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns,
    0 as duration_ns,
    start_ns as end_ns,
    case when phase = 'X' then correlation end as correlation,
    null as external_id,
    null as sequence_number,
    null as forward_thread,
    null as input_shapes
from raw.event
where
    start_ns is not null
    and (phase = 's' and lower(category) = 'async_npu' or phase = 'X' and lower(category) = 'enqueue')
