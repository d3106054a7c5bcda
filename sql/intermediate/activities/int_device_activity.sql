-- Device activities with launch, step and class: one row per kernel, memory copy or memory set.
--
-- An activity without a usable time is quarantined: it keeps its row and the reason, and counts in no figure. A start
-- and duration of 0 are unusable too, if they lie further from the other activities than these span. A suspect activity
-- (`int_suspect`) cannot have run as recorded, but counts unchanged.
--
-- An activity is communication if its kernel's name says so, if it carries a collective's metadata, or if a call of a
-- collective launched it. The last applies to any kernel and to copies from device to device. Kernels that a rule calls
-- auxiliary (a check of the input for NaN) are never communication. If an Overlap Analysis provides the figures, Ascend
-- kernels that communicate outside the tracks of groups (MoeDistributeDispatch) count as computing, as they do in that
-- analysis.
--
-- @title Device activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the event in the file
-- @column activity_kind category kernel, memcpy or memset, as recorded
-- @column activity_class category compute, communication or copy
-- @column activity_name name Name of the kernel or copy
-- @column is_npu flag Did an Ascend device run it?
-- @column kernel_type name Type of a kernel, if recorded
-- @column accelerator_core category Unit that it ran on, if recorded
-- @column device id Device
-- @column stream id Stream
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column bytes bytes Bytes copied or set
-- @column kernel_class category Class of a kernel; NULL for memory copies and sets that are not part of a collective
-- @column kernel_unit category Cube or Vector, Trans or No Trans
-- @column class_rule text Rule that decided the class
-- @column is_backward flag Was it launched by the backward pass? On Ascend devices the kernel type may say so, too
-- @column launch_index id Runtime call that launched it
-- @column launch_name name Name of that call
-- @column launch_start_ns timestamp_ns Start of that call
-- @column operator_name name Innermost operator around the launch
-- @column top_operator_name name Outermost operator around the launch, or the reason for its absence, in parentheses
-- @column input_shapes text Shapes of the innermost operator's inputs, JSON
-- @column kernel_shapes text Shapes of the kernel's own inputs, if recorded
-- @column core_ns duration_ns Time of the matrix core, where it is recorded
-- @column process_group name Group of a collective on an Ascend device
-- @column step id Step that it belongs to
-- @column quarantine_reason text Why its time is not usable; NULL if it is
-- @column is_suspect flag Does it overlap a later start on its own stream, for no known reason?
-- @column args text Arguments of a collective, JSON
with
extent as (
    select run_id, min(start_ns) as first_ns, max(end_ns) - min(start_ns) as length_ns
    from intermediate.int_activity
    where end_ns is not null and (start_ns <> 0 or duration_ns <> 0)
    group by run_id
),

judged as not materialized (
    select
        activity.*,
        case
            when activity.start_ns is null then 'no start'
            when activity.duration_ns is null then 'no duration'
            when activity.duration_ns < 0 then 'negative duration'
            when activity.start_ns = 0 and activity.duration_ns = 0 and extent.first_ns > extent.length_ns
                then 'start and duration are 0, far from the rest'
        end as quarantine_reason
    from intermediate.int_activity as activity
    left join extent on activity.run_id = extent.run_id
),

classified as (
    select
        judged.*,
        launch.* exclude (run_id, event_index),
        class.* exclude (run_id, kernel_name, measured_unit, operator_name, is_auxiliary),
        suspect.event_index is not null as is_suspect,
        not coalesce(class.is_auxiliary, false)
        and judged.activity_kind <> 'memset'
        and coalesce(judged.args ->> '$."Collective name"' <> '', false) as carries_collective,
        case
            when
                not judged.is_npu
                and not coalesce(class.is_auxiliary, false)
                and (
                    judged.activity_kind = 'kernel'
                    or judged.activity_kind = 'memcpy'
                    and regexp_matches(judged.activity_name, 'PtoP|DtoD|Peer|DeviceToDevice', 'i')
                )
                then call.call_name
        end as collective_call
    from judged
    left join intermediate.int_activity_launch as launch
        on judged.run_id = launch.run_id and judged.event_index = launch.event_index
    left join intermediate.int_suspect as suspect
        on judged.run_id = suspect.run_id and judged.event_index = suspect.event_index
    left join intermediate.int_kernel_class as class
        on
            judged.run_id = class.run_id
            and judged.activity_kind = 'kernel'
            and macros.kernel_key(judged.kernel_type, judged.activity_name) = class.kernel_name
            and macros.measured_unit(judged.accelerator_core, judged.matrix_ns) = class.measured_unit
            and coalesce(launch.operator_name, '') = class.operator_name
    left join intermediate.int_collective_call as call
        on judged.run_id = call.run_id and judged.event_index = call.event_index
),

told as (
    select *, is_collective or carries_collective or collective_call is not null as has_collective
    from classified
)

select
    run_id,
    event_index,
    activity_kind,
    case
        when has_collective then 'communication'
        when
            kernel_class = 'Communication' and not (is_npu and run_id in (select run_id from intermediate.int_overlap))
            then 'communication'
        when activity_kind <> 'kernel' or kernel_class = 'Copy' then 'copy'
        else 'compute'
    end as activity_class,
    activity_name,
    is_npu,
    kernel_type,
    accelerator_core,
    device,
    stream,
    start_ns,
    duration_ns,
    end_ns,
    bytes,
    case when has_collective then 'Communication' else kernel_class end as kernel_class,
    case when not has_collective then kernel_unit end as kernel_unit,
    case
        when is_collective then 'collective of CANN'
        when carries_collective then 'carries Collective name'
        when
            collective_call is not null and (kernel_class is distinct from 'Communication')
            then 'launched below ' || collective_call
        else class_rule
    end as class_rule,
    coalesce(is_backward, false)
    or coalesce(is_npu and regexp_matches(lower(kernel_type), 'grad|backprop'), false) as is_backward,
    launch_index,
    launch_name,
    launch_start_ns,
    operator_name,
    coalesce(top_operator_name, '(no launch in the trace)') as top_operator_name,
    input_shapes,
    kernel_shapes,
    core_ns,
    process_group,
    step,
    quarantine_reason,
    is_suspect,
    case when has_collective or kernel_class = 'Communication' then args end as args
from told
