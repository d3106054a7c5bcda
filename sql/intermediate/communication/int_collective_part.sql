-- Parts of collectives on the device with their description: one row per kernel; several parts of one collective share
-- a row.
--
-- The description is the arguments of the kernel or copy, completed by those of the record_param_comms around its
-- launch if both name the same collective (older versions record the sequence number only there); without such
-- arguments, those of that record_param_comms. Parts of one collective are the copies launched within one
-- record_param_comms, and kernels that only it describes. Other copies belong together if they share a sequence number.
-- On an Ascend device, AI CPU kernels that only start collectives do not count if the collectives themselves are
-- recorded.
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
-- @column kernel_symbol name What identifies the kind: the kernel type if recorded, else the name without template arguments and parameters
-- @column track_group name Group of the track, on an Ascend device
-- @column annotated_name name Collective named by an annotation around the launch
-- @column input_type category Type of the message, if record_param_comms only has the types of its inputs
-- @column input_elements count Elements of the message, in the same case
-- @column args text Description, JSON
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration; of several parts, the time in which at least one ran
-- @column end_ns timestamp_ns End
with
described as (
    select
        activity.* exclude (args),
        macros.unscoped_name(macros.kernel_symbol(macros.kernel_key(activity.kernel_type, activity.activity_name)))
            as kernel_symbol,
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
            when
                call_index is not null and (activity_kind = 'memcpy' or is_described and not describes_itself)
                then 'call ' || call_index
            when activity_kind = 'memcpy' and args ->> '$.Seq' is not null
                then
                    concat_ws(
                        ' ',
                        'sequence',
                        args ->> '$."Process Group Name"',
                        args ->> '$.Seq',
                        args ->> '$."Collective name"'
                    )
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
