-- Time that each device activity adds to the busy time of its device: one row per activity and scope.
--
-- An activity adds the part of its interval that no earlier activity covers, so the parts sum to the length of the
-- union of intervals. There are four unions: of compute, of communication, of both, and of all activities. Quarantined
-- activities have no rows. On an Ascend device the scope runs from the first start to the last end of kernels and
-- collectives, as in its profiler; only the part of a copy within the scope counts.
--
-- @title Device time by activity
-- @grain run_id, step, event_index
-- @order run_id, step, event_index
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column event_index id Position of the event in the file
-- @column device id Device
-- @column activity_class category compute, communication or copy
-- @column kernel_class category Class of a kernel
-- @column kernel_unit category Cube or Vector, Trans or No Trans
-- @column is_backward flag Was it launched by the backward pass?
-- @column core_ns duration_ns Time of the matrix core of an Ascend device, where it is recorded
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
-- @column compute_part_ns duration_ns Added to the union of compute kernels
-- @column communication_part_ns duration_ns Added to the union of collectives
-- @column busy_part_ns duration_ns Added to the union of compute kernels and collectives
-- @column active_part_ns duration_ns Added to the union of all activities
with
scoped as not materialized (
    select
        * exclude (step),
        unnest(case when step is null then [null] else [null, step] end) as step
    from intermediate.int_device_activity
    where quarantine_reason is null
),

frame as (
    select run_id, step, device, min(start_ns) as start_ns, max(end_ns) as end_ns
    from scoped
    where is_npu and activity_class <> 'copy'
    group by run_id, step, device
),

framed as (
    select
        scoped.* exclude (start_ns, end_ns),
        case
            when scoped.activity_class = 'copy' then greatest(scoped.start_ns, frame.start_ns) else scoped.start_ns
        end as start_ns,
        case when scoped.activity_class = 'copy' then least(scoped.end_ns, frame.end_ns) else scoped.end_ns end
            as end_ns
    from scoped
    left join frame
        on
            scoped.run_id = frame.run_id
            and scoped.step is not distinct from frame.step
            and scoped.device is not distinct from frame.device
            and scoped.is_npu
),

covered as (
    select
        *,
        max(end_ns) filter (where activity_class = 'compute') over earlier as compute_until_ns,
        max(end_ns) filter (where activity_class = 'communication') over earlier as communication_until_ns,
        max(end_ns) filter (where activity_class <> 'copy') over earlier as busy_until_ns,
        max(end_ns) over earlier as active_until_ns
    from framed
    where end_ns >= start_ns
    window earlier as (
        partition by run_id, step, device
        order by start_ns, end_ns desc, event_index
        rows between unbounded preceding and 1 preceding
    )
)

select
    run_id,
    step,
    event_index,
    device,
    activity_class,
    kernel_class,
    kernel_unit,
    is_backward,
    core_ns,
    start_ns,
    end_ns,
    case when activity_class = 'compute' then greatest(0, end_ns - greatest(start_ns, compute_until_ns)) else 0 end
        as compute_part_ns,
    case
        when
            activity_class = 'communication'
            then greatest(0, end_ns - greatest(start_ns, communication_until_ns))
        else 0
    end as communication_part_ns,
    case when activity_class <> 'copy' then greatest(0, end_ns - greatest(start_ns, busy_until_ns)) else 0 end
        as busy_part_ns,
    greatest(0, end_ns - greatest(start_ns, active_until_ns)) as active_part_ns
from covered
