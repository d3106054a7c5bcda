-- Step markers as recorded: one row per ProfilerStep#N event, on the host or copied to a device track, and per task of an Ascend
-- device that the profiler put in a step.
--
-- @title Step markers as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the marker belongs to
-- @column event_index id Place of the event in the file
-- @column step id Number of the step
-- @column on_device flag Is it the copy on a device track (gpu_user_annotation), or a task?
-- @column device id Device of the copy
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
select
    run_id,
    event_index,
    try_cast(regexp_extract(name, '[0-9]+$') as bigint) as step,
    lower(category) = 'gpu_user_annotation' as on_device,
    case when lower(category) = 'gpu_user_annotation' then coalesce(device, try_cast(pid as bigint)) end as device,
    start_ns,
    duration_ns
from raw.event
where
    phase = 'X'
    and (lower(category) = 'gpu_user_annotation' or macros.event_kind(category) in ('annotation', 'operator'))
    and start_ns is not null
    and duration_ns >= 0
    and macros.is_step_marker(name)
union all
select
    run_id,
    event_index,
    try_cast(regexp_extract(call_name, '[0-9]+$') as bigint) as step,
    false as on_device,
    null as device,
    start_ns,
    duration_ns
from staging.stg_framework_call
where macros.is_step_marker(call_name) and start_ns is not null and duration_ns >= 0
union all
select run_id, event_index, step, true as on_device, device, start_ns, duration_ns
from raw.kernel_detail
where step is not null and start_ns is not null and duration_ns >= 0
