-- Events with a duration and a known kind: one row per complete event, or begin with its end.
--
-- The category decides the kind; if `seeds.event_category` does not list it, the track does, by `seeds.track`
-- (`macros.event_kind`). Of asynchronous ranges (b and e) only device activities are read: on the host they are on no
-- thread's stack.
--
-- @title Events
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the event belongs to
-- @column event_index id Position in the file: of the event, or of the begin event
-- @column event_kind category Kind, as in the seeds
-- @column event_name name Name
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration; NULL or negative if not usable
-- @column correlation id Correlation id
-- @column external_id id External id
-- @column device id Device, if the event names one
-- @column stream id Stream, if the event names one
-- @column bytes bytes Bytes moved
-- @column python_id id Number of a Python function
-- @column python_parent_id id Number of its caller
-- @column sequence_number id Autograd sequence number
-- @column forward_thread id Thread of the forward operator
-- @column input_shapes text Shapes of the inputs, JSON
-- @column input_types text Types of the inputs, JSON
-- @column args text Arguments of the event, JSON
select
    event.run_id,
    event.event_index,
    category.event_kind,
    coalesce(event.name, '') as event_name,
    coalesce(event.pid, '') as pid,
    coalesce(event.tid, '') as tid,
    event.start_ns,
    event.duration_ns,
    event.correlation,
    event.external_id,
    event.device,
    event.stream,
    event.bytes,
    event.python_id,
    event.python_parent_id,
    event.sequence_number,
    event.forward_thread,
    event.input_shapes,
    event.input_types,
    event.args
from raw.event as event
inner join staging.stg_event_category as category
    on event.run_id = category.run_id and event.category = category.event_category
where event.phase = 'X' and category.event_kind is not null
union all by name
select
    event.run_id,
    event.event_index,
    macros.event_kind(event.category, category.event_kind, track.event_kind, track.is_told_by_thread) as event_kind,
    coalesce(event.name, '') as event_name,
    track.pid,
    track.tid,
    event.start_ns,
    event.duration_ns,
    event.correlation,
    event.external_id,
    event.device,
    event.stream,
    event.bytes,
    event.python_id,
    event.python_parent_id,
    event.sequence_number,
    event.forward_thread,
    event.input_shapes,
    event.input_types,
    event.args
from raw.event as event
inner join staging.stg_event_category as category
    on event.run_id = category.run_id and coalesce(event.category, '') = category.event_category
inner join staging.stg_track as track
    on event.run_id = track.run_id and coalesce(event.pid, '') = track.pid and coalesce(event.tid, '') = track.tid
where
    event.phase = 'X'
    and category.event_kind is null
    and macros.event_kind(event.category, category.event_kind, track.event_kind, track.is_told_by_thread) is not null
union all by name
select
    run_id,
    event_index,
    event_kind,
    event_name,
    pid,
    tid,
    start_ns,
    duration_ns,
    correlation,
    external_id,
    device,
    stream,
    bytes,
    python_id,
    python_parent_id,
    sequence_number,
    forward_thread,
    input_shapes,
    input_types,
    args
from staging.stg_event_pair
where
    is_paired
    and event_kind is not null
    and (not is_async or event_kind in ('kernel', 'memcpy', 'memset', 'activity'))
