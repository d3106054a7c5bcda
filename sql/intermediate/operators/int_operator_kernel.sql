-- Kernels and copies of operator calls: one row per operator call that launched any, itself or through nested
-- operators.
--
-- Nested operators have rows only if the variable `max_kernel_num` asks to open operators.
--
-- @title Kernels of operator calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the operator call in the file
-- @column kernels text Name, class, stream and nanoseconds of each, one per line in the order of starts, including those of nested operators
-- @column own_kernels text The same without nested operators; NULL without that variable
with
kernel as (
    select
        launch.run_id,
        launch.event_index,
        launch.is_own,
        activity.start_ns,
        activity.event_index as activity_index,
        format(
            '{}, {}, stream {}: {} ns',
            activity.activity_name,
            coalesce(activity.kernel_class, activity.activity_kind),
            coalesce(activity.stream::varchar, 'unknown'),
            activity.duration_ns
        ) as kernel
    from intermediate.int_operator_launch as launch
    inner join intermediate.int_device_activity as activity
        on launch.run_id = activity.run_id and launch.activity_index = activity.event_index
    where activity.quarantine_reason is null
),

-- Most lists have one element, and an ordered aggregate would sort each of them at a cost.
listed as (
    select
        run_id,
        event_index,
        list_sort(
            list({'start_ns': start_ns, 'activity_index': activity_index, 'kernel': kernel, 'is_own': is_own})
        ) as kernels
    from kernel
    group by run_id, event_index
)

select
    run_id,
    event_index,
    array_to_string([one.kernel for one in kernels], chr(10)) as kernels,
    case
        when getvariable('max_kernel_num')::bigint is not null
            then nullif(array_to_string([one.kernel for one in kernels if one.is_own], chr(10)), '')
    end as own_kernels
from listed
