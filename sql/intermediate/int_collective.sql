-- Collectives: one row per collective kernel with a usable time.
--
-- The name is the one in the arguments, else the kernel's, written the way of `seeds.collective`; `unknown` where neither
-- tells. Sizes are elements × size of the data type, NULL where the trace has no metadata. Algorithm bytes are the
-- size that bandwidths are counted on: the larger of input and output. The bus factor is the part of it that
-- crosses the slowest link: 2(n−1)/n for allreduce, (n−1)/n for allgather, reducescatter and alltoall, else 1.
-- On an Ascend device the message has `count` elements, which go in and, where all ranks get what one has, also come out; the group
-- is the one of the track, of the analysis of communication or, by its name in the job, of the metadata.
-- The sequence is `Seq`, else the place among the run's collectives of the same process group.
--
-- @title Collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run
-- @column event_index id Place of the event in the file
-- @column step id Step that it belongs to
-- @column device id Device
-- @column collective_name name Name of the collective
-- @column kernel_name name Name of the kernel
-- @column process_group name Process group
-- @column group_size count Ranks in the group
-- @column data_type category Type of an element
-- @column sequence id Number within the process group
-- @column input_bytes bytes Size of the input
-- @column output_bytes bytes Size of the output
-- @column algorithm_bytes bytes Size that bandwidths are counted on
-- @column bus_factor ratio Bus bandwidth / algorithm bandwidth
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
with
collective as (
    select
        activity.* exclude (process_group),
        coalesce(
            job.group_name, activity.process_group, analysed.process_group, args ->> '$."Process Group Name"'
        ) as process_group,
        coalesce(args ->> '$."Collective name"', regexp_extract(activity_name, '^[^(<]*')) as raw_name,
        args ->> '$."Collective name"' is not null as has_metadata,
        coalesce(args ->> '$.dtype', case when is_npu then args ->> '$.data_type' end) as data_type,
        coalesce(try_cast(args ->> '$."Group size"' as bigint), job.group_size) as group_size,
        try_cast(args ->> '$."In msg nelems"' as bigint) as input_elements,
        try_cast(args ->> '$."Out msg nelems"' as bigint) as output_elements,
        case when is_npu then try_cast(args ->> '$.count' as bigint) end as message_elements,
        try_cast(args ->> '$.Seq' as bigint) as recorded_sequence
    from intermediate.int_device_activity as activity
    left join (
        select run_id, operation_name, any_value(process_group) as process_group
        from staging.stg_communication_operation
        group by run_id, operation_name
    ) as analysed
        on activity.run_id = analysed.run_id and activity.activity_name = analysed.operation_name
    left join staging.stg_process_group as job
        on
            activity.run_id = job.run_id
            and coalesce(activity.process_group, analysed.process_group) = job.process_group
    where activity_class = 'communication' and quarantine_reason is null
),

named as (
    select name.raw_name, min_by(pattern.collective, pattern.rule_order) as collective_name
    from (select distinct raw_name from collective) as name
    inner join seeds.collective as pattern on lower(name.raw_name) glob pattern.pattern
    group by name.raw_name
),

sized as (
    select
        collective.*,
        case
            when named.collective_name is not null then named.collective_name
            when collective.has_metadata then lower(collective.raw_name)
            else 'unknown'
        end as collective_name,
        coalesce(collective.input_elements, collective.message_elements) * data_type.element_bytes as input_bytes,
        coalesce(
            collective.output_elements,
            case when named.collective_name in ('allreduce', 'broadcast', 'send', 'recv') then collective.message_elements end
        ) * data_type.element_bytes as output_bytes
    from collective
    left join named on collective.raw_name = named.raw_name
    left join seeds.data_type as data_type on lower(collective.data_type) = data_type.data_type
)

select
    run_id,
    event_index,
    step,
    device,
    collective_name,
    activity_name as kernel_name,
    process_group,
    group_size,
    data_type,
    coalesce(
        recorded_sequence,
        row_number() over (partition by run_id, process_group, recorded_sequence is null order by start_ns, event_index) - 1
    ) as sequence,
    input_bytes,
    output_bytes,
    greatest(input_bytes, output_bytes) as algorithm_bytes,
    case
        when group_size is null then null
        when collective_name = 'allreduce' then 2.0::double * (group_size - 1) / group_size
        when collective_name in ('allgather', 'reducescatter', 'alltoall') then 1.0::double * (group_size - 1) / group_size
        else 1.0::double
    end as bus_factor,
    start_ns,
    duration_ns,
    end_ns
from sized
