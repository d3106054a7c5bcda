-- Host calls that are left out: one row per call, annotation, synchronization or function without a usable time.
--
-- Device activities without a usable time are quarantined instead.
--
-- @title Host calls without a usable time
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the event belongs to
-- @column event_index id Position of the event in the file
-- @column call_name name Name
-- @column reason text What is wrong with its time
select
    run_id,
    event_index,
    event_name as call_name,
    case
        when start_ns is null then 'no start'
        when duration_ns is null then 'no duration'
        else 'negative duration'
    end as reason
from staging.stg_event
where
    event_kind in ('operator', 'annotation', 'runtime', 'python function', 'device annotation', 'synchronization')
    and not coalesce(start_ns is not null and duration_ns >= 0, false)
