-- Kernels and copies of operator calls, those of operators inside included: one row per operator call.
--
-- @title Kernels of operator calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Place of the operator call in the file
-- @column kernels text Name, class, stream and nanoseconds of each, in the order of their starts, a line each
with recursive
nested as materialized (
    select run_id, event_index, parent_operator_index
    from intermediate.int_operator_call
    where parent_operator_index is not null
),

launched as (
    select
        launch.run_id,
        launch.operator_index as event_index,
        launch.event_index as activity_index,
        activity.start_ns,
        format(
            '{}, {}, stream {}: {} ns',
            activity.activity_name,
            coalesce(activity.kernel_class, activity.activity_kind),
            coalesce(activity.stream::varchar, 'unknown'),
            activity.duration_ns
        ) as kernel
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_device_activity as activity
        on launch.run_id = activity.run_id and launch.event_index = activity.event_index
    where launch.operator_index is not null and activity.quarantine_reason is null
    union all
    select launched.run_id, nested.parent_operator_index, launched.activity_index, launched.start_ns, launched.kernel
    from launched
    inner join nested
        on launched.run_id = nested.run_id and launched.event_index = nested.event_index
)

-- Most lists have one element; an aggregate with an order sorts each of them at a cost.
select
    run_id,
    event_index,
    array_to_string(
        [
            launch.kernel
            for launch in list_sort(list({'start_ns': start_ns, 'activity_index': activity_index, 'kernel': kernel}))
        ],
        chr(10)
    ) as kernels
from launched
group by run_id, event_index
