-- Counts of a run: one row per run.
--
-- @title Sizes of runs
-- @grain run_id
-- @order run_id
-- @materialized
-- @column run_id id Run
-- @column is_npu flag Is it from an Ascend device? NULL without device activities
-- @column has_timeline flag Does it have trace events? Tables alone leave out copies
-- @column device_source category Best source of device data: activities, overlap analysis or tables; NULL without any
-- @column device_activity_count count Device activities with a usable time
-- @column quarantined_count count Device activities without a usable time
-- @column untimed_call_count count Host calls without a usable time
-- @column suspect_count count Activities that overlap a later start on their own stream
-- @column device_count count Devices with activities
-- @column host_call_count count Host calls
-- @column memory_event_count count Allocations and frees on devices
with
activity as (
    select
        run_id,
        bool_or(is_npu) as is_npu,
        count(*) filter (where quarantine_reason is null) as device_activity_count,
        count(*) filter (where quarantine_reason is not null) as quarantined_count,
        count(*) filter (where is_suspect) as suspect_count,
        count(distinct device) filter (where quarantine_reason is null) as device_count
    from intermediate.int_device_activity
    group by run_id
),

call as (
    select run_id, count(*) as host_call_count
    from intermediate.int_host_call
    where call_kind in ('operator', 'annotation', 'runtime')
    group by run_id
),

untimed as (
    select run_id, count(*) as untimed_call_count from staging.stg_untimed_call group by run_id
),

timeline as (
    select run_id from intermediate.int_host_call
    union
    select run_id from staging.stg_event_category
),

memory as (
    select run_id, count(*) as memory_event_count from intermediate.int_allocation group by run_id
),

-- Runs whose tables describe a device without its activities.
told as (
    select run_id from staging.stg_statistic where source not in ('api_statistic', 'operator_details')
    union
    select run_id from staging.stg_communication_operation
    union
    select run_id from staging.stg_communication_transfer
    union
    select run_id from staging.stg_allocation
    union
    select run_id from staging.stg_memory_sample
)

select
    run.run_id,
    activity.is_npu,
    not coalesce(activity.is_npu, false) or timeline.run_id is not null as has_timeline,
    case
        when activity.device_activity_count > 0 then 'activities'
        when run.run_id in (select run_id from intermediate.int_overlap) then 'overlap analysis'
        when run.run_id in (select run_id from told) then 'tables'
    end as device_source,
    coalesce(activity.device_activity_count, 0) as device_activity_count,
    coalesce(activity.quarantined_count, 0) as quarantined_count,
    coalesce(untimed.untimed_call_count, 0) as untimed_call_count,
    coalesce(activity.suspect_count, 0) as suspect_count,
    coalesce(activity.device_count, 0) as device_count,
    coalesce(call.host_call_count, 0) as host_call_count,
    coalesce(memory.memory_event_count, 0) as memory_event_count
from staging.stg_run as run
left join activity on run.run_id = activity.run_id
left join call on run.run_id = call.run_id
left join untimed on run.run_id = untimed.run_id
left join timeline on run.run_id = timeline.run_id
left join memory on run.run_id = memory.run_id
