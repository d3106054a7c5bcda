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
-- What climbs to the operators around is numbers, and as little as can be: the joins of a recursion cannot spill.
nested as materialized (
    select run.run_number, operator.event_index, operator.parent_operator_index
    from intermediate.int_operator_call as operator
    inner join intermediate.int_run_number as run on operator.run_id = run.run_id
    where operator.parent_operator_index is not null
),

launched as (
    select run.run_number, launch.operator_index as event_index, launch.event_index as activity_index
    from intermediate.int_activity_launch as launch
    inner join intermediate.int_run_number as run on launch.run_id = run.run_id
    where launch.operator_index is not null
    union all
    select launched.run_number, nested.parent_operator_index, launched.activity_index
    from launched
    inner join nested
        on launched.run_number = nested.run_number and launched.event_index = nested.event_index
),

kernel as (
    select
        run_id,
        event_index as activity_index,
        start_ns,
        format(
            '{}, {}, stream {}: {} ns',
            activity_name,
            coalesce(kernel_class, activity_kind),
            coalesce(stream::varchar, 'unknown'),
            duration_ns
        ) as kernel
    from intermediate.int_device_activity
    where quarantine_reason is null
)

-- Most lists have one element; an aggregate with an order sorts each of them at a cost.
select
    kernel.run_id,
    launched.event_index,
    array_to_string(
        [
            launch.kernel
            for launch in list_sort(
                list({'start_ns': kernel.start_ns, 'activity_index': kernel.activity_index, 'kernel': kernel.kernel})
            )
        ],
        chr(10)
    ) as kernels
from launched
inner join intermediate.int_run_number as run on launched.run_number = run.run_number
inner join kernel
    on run.run_id = kernel.run_id and launched.activity_index = kernel.activity_index
group by kernel.run_id, launched.event_index
