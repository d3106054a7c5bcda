-- Events that should have a duration but count in no figure: one row per run, reason, phase, category and, without a
-- category, process.
--
-- An event is not understood if neither category nor track identifies it (`seeds.event_category`, `seeds.track`), if
-- the trace format does not define its phase, or if it is an asynchronous range of the host, which is on no thread's
-- stack. It is unpaired if it is a begin without an end or an end without a begin. Instant events, counters, flows,
-- metadata and empty events do not count.
--
-- @title Events that are not read
-- @grain run_id, reason, phase, event_category, process_name
-- @order run_id, reason, phase, event_category, process_name
-- @column run_id id Run
-- @column reason category not_understood or unpaired
-- @column phase category Phase
-- @column event_category category Category; empty for none
-- @column process_name name Process, for events without a category
-- @column event_count count Events
-- @column event_index id Position of the first one in the file
with
unread as (
    select event.run_id, 'not_understood' as reason, event.phase, event.category, track.process_name, event.event_index
    from raw.event as event
    inner join staging.stg_event_category as category
        on event.run_id = category.run_id and coalesce(event.category, '') = category.event_category
    inner join staging.stg_track as track
        on event.run_id = track.run_id and coalesce(event.pid, '') = track.pid and coalesce(event.tid, '') = track.tid
    where
        event.phase = 'X'
        and macros.event_kind(event.category, category.event_kind, track.event_kind, track.is_told_by_thread) is null
    union all by name
    select
        run_id,
        case when is_paired or is_async then 'not_understood' else 'unpaired' end as reason,
        case when is_async then 'b' else 'B' end as phase,
        category,
        pid as process_name,
        event_index
    from staging.stg_event_pair
    where
        not is_paired
        or event_kind is null
        or is_async and event_kind not in ('kernel', 'memcpy', 'memset', 'activity', 'other')
    union all by name
    select
        run_id,
        'not_understood' as reason,
        coalesce(phase, '') as phase,
        category,
        coalesce(pid, '') as process_name,
        event_index
    from raw.event
    where
        coalesce(phase, '') not in (
            'X', 'B', 'E', 'b', 'e', 'n', 'S', 'T', 'p', 'F', 's', 't', 'f', 'M',
            'i', 'I', 'R', 'C', 'P', 'N', 'O', 'D', 'V', 'v', 'c', '(', ')', '='
        )
        and not (phase is null and category is null and name is null and start_ns is null)
)

select
    run_id,
    reason,
    phase,
    coalesce(category, '') as event_category,
    case when coalesce(category, '') = '' then process_name else '' end as process_name,
    count(*) as event_count,
    min(event_index) as event_index
from unread
group by all
