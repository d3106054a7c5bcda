-- Devices of the tracks of an Ascend trace: one row per process of tasks, of collectives or of an Overlap Analysis.
--
-- A trace of several devices has a process of each kind for every device. No event says which device a process belongs
-- to, so processes and devices match in the order of their numbers. If the tables name a different number of devices,
-- processes count from 0.
--
-- @title Devices of Ascend tracks
-- @grain run_id, pid, process_kind
-- @order run_id, pid, process_kind
-- @column run_id id Run
-- @column pid id Process
-- @column process_kind category task, collective or overlap
-- @column device id Device; 0 for the only one if no table names it
-- @column is_told flag Is it one of several devices that the tables name?
with
process as (
    select
        *,
        row_number() over (partition by run_id, process_kind order by try_cast(pid as hugeint), pid) as place,
        count(*) over (partition by run_id, process_kind) as process_count
    from (
        select distinct run_id, pid, case event_kind when 'plane' then 'collective' else event_kind end as process_kind
        from staging.stg_track
        where event_kind in ('task', 'collective', 'plane', 'overlap')
    )
)

select
    process.run_id,
    process.pid,
    process.process_kind,
    coalesce(known.device, process.place - 1) as device,
    process.process_count > 1 and known.device is not null as is_told
from process
left join intermediate.int_known_device as known
    on
        process.run_id = known.run_id
        and process.place = known.place
        and (process.process_count = 1 or process.process_count = known.device_count)
