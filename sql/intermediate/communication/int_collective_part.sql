-- What the device did for a collective, with what describes it: one row per kernel, and one for all parts of a collective that has several.
--
-- The description is the arguments of the kernel or copy, with those of the record_param_comms around its launch where that names the same
-- collective (older recordings have the sequence number only there), else the latter. Parts of one collective
-- are what was launched below one record_param_comms: its copies, and kernels that it alone describes. Other copies belong together that
-- share a sequence number. On an Ascend device kernels of the AI CPU
-- that only start collectives are none beside the collectives themselves.
--
-- @title Parts of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the event in the file, or of the first of several parts
-- @column step id Step
-- @column device id Device
-- @column is_npu flag Did an Ascend device run it?
-- @column activity_name name Name of the kernel or copy
-- @column kernel_symbol name What tells the kind: its type, where it is recorded, else its name without template arguments and parameters
-- @column track_group name Group of the track, on an Ascend device
-- @column annotated_name name Collective that an annotation around the launch names
-- @column input_type category Type of the message, where record_param_comms has only that of its inputs
-- @column input_elements count Elements of the message, likewise
-- @column args text Description, JSON
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration; of several parts, the time in which at least one ran
-- @column end_ns timestamp_ns End
with
described as (
    select
        activity.* exclude (args),
        macros.unscoped_name(macros.kernel_symbol(macros.kernel_key(activity.kernel_type, activity.activity_name))) as kernel_symbol,
        call.call_index,
        call.annotated_name,
        call.input_type,
        call.input_elements,
        coalesce(activity.args ->> '$."Collective name"', '') <> '' as describes_itself,
        coalesce(call.args ->> '$."Collective name"', '') <> '' as is_described,
        case
            when not describes_itself then coalesce(call.args, activity.args)
            when activity.args ->> '$."Collective name"' = call.args ->> '$."Collective name"'
                then json_merge_patch(call.args, activity.args)::varchar
            else activity.args
        end as args
    from intermediate.int_device_activity as activity
    left join intermediate.int_collective_call as call
        on activity.run_id = call.run_id and activity.event_index = call.event_index
    where
        (activity.activity_class = 'communication' or activity.kernel_class = 'Communication')
        and activity.quarantine_reason is null
        and not (
            activity.is_npu
            and activity.activity_name ilike '%AicpuKernel%'
            and activity.run_id in (select run_id from intermediate.int_activity where is_collective)
        )
),

grouped as (
    select
        *,
        case
            when call_index is not null and (activity_kind = 'memcpy' or is_described and not describes_itself) then 'call ' || call_index
            when activity_kind = 'memcpy' and args ->> '$.Seq' is not null
                then concat_ws(' ', 'sequence', args ->> '$."Process Group Name"', args ->> '$.Seq', args ->> '$."Collective name"')
            else 'event ' || event_index
        end as whole
    from described
),

apart as (
    select
        *,
        greatest(
            0,
            end_ns - greatest(
                start_ns,
                max(end_ns) over (
                    partition by run_id, device, whole order by start_ns, end_ns desc, event_index
                    rows between unbounded preceding and 1 preceding
                )
            )
        ) as part_ns
    from grouped
)

select
    run_id,
    min(event_index) as event_index,
    min_by(step, event_index) as step,
    device,
    any_value(is_npu) as is_npu,
    min_by(activity_name, event_index) as activity_name,
    min_by(kernel_symbol, event_index) as kernel_symbol,
    any_value(process_group) as track_group,
    any_value(annotated_name) as annotated_name,
    any_value(input_type) as input_type,
    any_value(input_elements) as input_elements,
    min_by(args, event_index) as args,
    min(start_ns) as start_ns,
    sum(part_ns)::bigint as duration_ns,
    max(end_ns) as end_ns
from apart
group by run_id, device, whole
