-- Tracks of events with a duration: one row per run, process and thread.
--
-- The names of its process and thread identify a track; an id takes the place of a missing name. `seeds.track` says
-- what a track contains: globs, compared in lower case; the first match wins. The device number is the one in the
-- process name (`GPU 1`, `cuda:0`), else the process id, else, for tracks of a device, the thread's number. Processes
-- that only copy (`1 COPY`) are engines, which have numbers of their own. An engine that names no device has the run's
-- device, if there is only one.
--
-- @title Tracks
-- @grain run_id, pid, tid
-- @order run_id, pid, tid
-- @materialized
-- @column run_id id Run
-- @column pid id Process
-- @column tid id Thread
-- @column process_name name Name of the process, else its id
-- @column thread_name name Name of the thread, else its id
-- @column event_kind category Kind of its events if their category does not decide it; NULL if the track does not either
-- @column is_told_by_thread flag Does the thread decide that, rather than the process alone?
-- @column device id Device
-- @column stream id Stream
with
track as (
    select distinct run_id, coalesce(pid, '') as pid, coalesce(tid, '') as tid
    from raw.event
    where phase in ('X', 'B', 'E', 'b', 'S')
),

process as (
    select run_id, pid, any_value(track_name) as process_name
    from staging.stg_track_name
    where is_process
    group by run_id, pid
),

thread as (
    select run_id, pid, tid, any_value(track_name) as thread_name
    from staging.stg_track_name
    where not is_process
    group by run_id, pid, tid
),

named as (
    select
        track.*,
        coalesce(process.process_name, track.pid) as process_name,
        coalesce(thread.thread_name, track.tid) as thread_name
    from track
    left join process on track.run_id = process.run_id and track.pid = process.pid
    left join thread on track.run_id = thread.run_id and track.pid = thread.pid and track.tid = thread.tid
),

told as (
    select
        named.*,
        min_by(rule.kind, rule.rule_order) as event_kind,
        coalesce(min_by(rule.thread, rule.rule_order) <> '*', false) as is_told_by_thread
    from named
    left join seeds.track as rule
        on lower(named.process_name) glob lower(rule.process) and lower(named.thread_name) glob lower(rule.thread)
    group by all
),

numbered as (
    select
        *,
        coalesce(event_kind in ('activity', 'kernel', 'memcpy', 'memset'), false) as is_device,
        coalesce(event_kind = 'memcpy', false) as is_engine,
        coalesce(macros.device_number(process_name), case when not is_engine then macros.last_number(pid) end)
            as process_device,
        coalesce(process_device, case when is_device and not is_engine then macros.last_number(tid) end) as device
    from told
),

only_device as (
    select run_id, min(device) as device
    from numbered
    where is_device
    group by run_id
    having min(device) = max(device)
)

select
    numbered.run_id,
    numbered.pid,
    numbered.tid,
    numbered.process_name,
    numbered.thread_name,
    numbered.event_kind,
    numbered.is_told_by_thread,
    case when numbered.is_engine then coalesce(numbered.device, only_device.device) else numbered.device end as device,
    case
        when numbered.process_device is not null or not numbered.is_device
            then coalesce(macros.stream_number(numbered.thread_name), macros.last_number(numbered.tid))
    end as stream
from numbered
left join only_device on numbered.run_id = only_device.run_id
