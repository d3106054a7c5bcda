-- Events recorded as a begin and an end: one row per begin, and per end without a begin.
--
-- Events of a thread are taken in order of time, then of position in the file. An end belongs to the last begin that is
-- still open; if all ends of the thread have names, to the last one of its own name. Asynchronous events (b and e) pair
-- by category and id, on any thread. Fields that the begin lacks come from the end.
--
-- @title Begins and ends
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Position of the begin in the file; of the end if it has no begin
-- @column is_paired flag Are both recorded?
-- @column is_async flag Is it an asynchronous range, which is on no thread's stack?
-- @column category category Category
-- @column event_kind category Kind; NULL if neither category nor track decides it
-- @column event_name name Name
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Time of the begin
-- @column duration_ns duration_ns From the begin to the end
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
with
mark as (
    select
        * replace (coalesce(pid, '') as pid, coalesce(tid, '') as tid),
        phase in ('B', 'b', 'S') as is_begin,
        phase not in ('B', 'E') as is_async,
        case
            when phase in ('B', 'E') then [coalesce(pid, ''), coalesce(tid, '')]
            else [lower(category), coalesce(flow_id, pid)]
        end as track
    from raw.event
    where phase in ('B', 'E', 'b', 'e', 'S', 'F')
),

named as (
    select
        run_id,
        event_index,
        start_ns,
        is_begin,
        is_async,
        track,
        case
            when bool_and(is_begin or coalesce(name, '') <> '') over (partition by run_id, is_async, track) then name
        end as key
    from mark
),

-- Nesting depth: a begin and its end have the same one, and nothing between them does.
leveled as (
    select
        *,
        sum(case when is_begin then 1 else -1 end) over so_far + (not is_begin)::integer as level
    from named
    where start_ns is not null
    window so_far as (partition by run_id, is_async, track, key order by start_ns, event_index rows unbounded preceding)
),

placed as (
    select
        run_id,
        event_index,
        is_begin,
        lead({'event_index': event_index, 'is_begin': is_begin}) over by_level as following,
        coalesce(lag(is_begin) over by_level, false) as has_begin
    from leveled
    window by_level as (partition by run_id, is_async, track, key, level order by start_ns, event_index)
),

pair as (
    select run_id, event_index, case when not following.is_begin then following.event_index end as end_index
    from placed
    where is_begin or not has_begin
    union all by name
    select run_id, event_index, null as end_index
    from named
    where start_ns is null
)

select
    pair.run_id,
    pair.event_index,
    pair.end_index is not null as is_paired,
    event.is_async,
    event.category,
    macros.event_kind(event.category, category.event_kind, track.event_kind, track.is_told_by_thread) as event_kind,
    coalesce(event.name, finish.name, '') as event_name,
    event.pid,
    event.tid,
    event.start_ns,
    finish.start_ns - event.start_ns as duration_ns,
    coalesce(event.correlation, finish.correlation) as correlation,
    coalesce(event.external_id, finish.external_id) as external_id,
    coalesce(event.device, finish.device) as device,
    coalesce(event.stream, finish.stream) as stream,
    coalesce(event.bytes, finish.bytes) as bytes,
    coalesce(event.python_id, finish.python_id) as python_id,
    coalesce(event.python_parent_id, finish.python_parent_id) as python_parent_id,
    coalesce(event.sequence_number, finish.sequence_number) as sequence_number,
    coalesce(event.forward_thread, finish.forward_thread) as forward_thread,
    coalesce(event.input_shapes, finish.input_shapes) as input_shapes,
    coalesce(event.input_types, finish.input_types) as input_types,
    coalesce(json_merge_patch(event.args, finish.args)::varchar, event.args, finish.args) as args
from pair
inner join mark as event on pair.run_id = event.run_id and pair.event_index = event.event_index
left join mark as finish on pair.run_id = finish.run_id and pair.end_index = finish.event_index
left join staging.stg_event_category as category
    on pair.run_id = category.run_id and coalesce(event.category, '') = category.event_category
left join staging.stg_track as track
    on pair.run_id = track.run_id and event.pid = track.pid and event.tid = track.tid
