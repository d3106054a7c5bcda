-- Modules and the device time that they launched, forward and backward: one row per run, step and module.
--
-- @title Time of modules
-- @grain run_id, step, module_name
-- @order run_id, step, module_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column module_name name Names from the outermost module down
-- @column parent_name name Name of the parent module
-- @column module_class name Class of the module
-- @column module_level depth Nesting depth, 1 for an outermost module; 0 outside any module
-- @column is_backward flag Is it the backward pass?
-- @column forward_name name Name of the module without the mark of the backward pass
-- @column first_start_ns timestamp_ns Start of the module's first call in the run; for a backward pass, of the first forward call
-- @column first_index id That call: position in the file
-- @column call_count count Calls on the host; NULL for the backward pass, which has no calls of its own
-- @column host_duration_ns duration_ns Sum of their durations
-- @column device_activity_count count Device activities launched, without nested modules; NULL if the run has none
-- @column device_self_duration_ns duration_ns Sum of their durations, without nested modules
-- @column device_total_duration_ns duration_ns Sum of durations, with nested modules
with recursive
known as materialized (select * from intermediate.int_module),

host as (
    select run_id, step, module, count(*) as call_count, sum(end_ns - start_ns)::bigint as host_duration_ns
    from intermediate.int_module_call
    group by grouping sets ((run_id, module), (run_id, step, module))
    having grouping(step) = 1 or step is not null
),

self as (
    select
        activity.run_id,
        activity.step,
        coalesce(call.module, 0) as module,
        coalesce(placed.is_backward, false) as is_backward,
        count(*) as device_activity_count,
        sum(activity.duration_ns)::bigint as device_self_duration_ns
    from intermediate.int_device_activity as activity
    left join intermediate.int_activity_module as placed
        on activity.run_id = placed.run_id and activity.event_index = placed.event_index
    left join intermediate.int_module_call as call
        on placed.run_id = call.run_id and placed.module_index = call.event_index
    where activity.quarantine_reason is null
    group by
        grouping sets (
            (activity.run_id, call.module, placed.is_backward),
            (activity.run_id, activity.step, call.module, placed.is_backward)
        )
    having grouping(activity.step) = 1 or activity.step is not null
),

placed as materialized (
    select self.*, coalesce(known.module_level, 0) as module_level, known.parent_module
    from self
    left join known on self.run_id = known.run_id and self.module = known.module
),

-- From the deepest level up, so that each module adds to its parent once.
device as (
    select *, device_self_duration_ns as device_total_duration_ns
    from placed
    where (run_id, module_level) in (select (run_id, max(module_level)) from placed group by run_id)
    union all
    select
        run_id,
        step,
        module,
        is_backward,
        coalesce(sum(device_activity_count), 0)::bigint as device_activity_count,
        coalesce(sum(device_self_duration_ns), 0)::bigint as device_self_duration_ns,
        module_level,
        any_value(parent_module) as parent_module,
        sum(device_total_duration_ns)::bigint as device_total_duration_ns
    from (
        select
            inside.run_id,
            inside.step,
            inside.parent_module as module,
            inside.is_backward,
            inside.module_level - 1 as module_level,
            known.parent_module,
            inside.device_total_duration_ns
        from device as inside
        inner join known on inside.run_id = known.run_id and inside.parent_module = known.module
        union all by name
        select placed.*, placed.device_self_duration_ns as device_total_duration_ns
        from placed
        inner join (select run_id, any_value(module_level) as module_level from device group by run_id) as below
            on placed.run_id = below.run_id and placed.module_level = below.module_level - 1
    )
    group by run_id, step, module, is_backward, module_level
),

name as (
    select run_id, step, module, is_backward from device
    union
    select run_id, step, module, false as is_backward from host
)

select
    name.run_id,
    name.step,
    case when name.is_backward then '[ BACKWARD ]' else '' end || coalesce(known.module_path, '') as module_name,
    case when name.is_backward and known.parent_path is not null then '[ BACKWARD ]' else '' end
    || known.parent_path as parent_name,
    known.module_class,
    coalesce(known.module_level, 0)::integer as module_level,
    name.is_backward,
    coalesce(known.module_path, '') as forward_name,
    known.first_start_ns,
    known.first_index,
    case when not name.is_backward and name.module <> 0 then coalesce(host.call_count, 0) end as call_count,
    case when not name.is_backward and name.module <> 0 then coalesce(host.host_duration_ns, 0) end as host_duration_ns,
    case when size.device_activity_count > 0 then coalesce(device.device_activity_count, 0) end
        as device_activity_count,
    case when size.device_activity_count > 0 then coalesce(device.device_self_duration_ns, 0) end
        as device_self_duration_ns,
    case when size.device_activity_count > 0 then coalesce(device.device_total_duration_ns, 0) end
        as device_total_duration_ns
from name
semi join known as any_known on name.run_id = any_known.run_id
left join known on name.run_id = known.run_id and name.module = known.module
left join intermediate.int_run_size as size on name.run_id = size.run_id
left join host
    on
        name.run_id = host.run_id
        and name.step is not distinct from host.step
        and name.module = host.module
        and not name.is_backward
left join device
    on
        name.run_id = device.run_id
        and name.step is not distinct from device.step
        and name.module = device.module
        and name.is_backward = device.is_backward
