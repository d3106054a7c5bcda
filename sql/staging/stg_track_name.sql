-- Names of tracks as recorded: one row per metadata event that names a process or a thread.
--
-- @title Names of tracks
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the track belongs to
-- @column event_index id Position of the event in the file
-- @column pid id Process
-- @column tid id Thread; any if it names the process
-- @column is_process flag Does it name the process, rather than a thread?
-- @column track_name name Name of the process or thread
select
    run_id,
    event_index,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    name = 'process_name' as is_process,
    args ->> '$.name' as track_name
from raw.event
where phase = 'M' and name in ('process_name', 'thread_name') and args ->> '$.name' is not null
