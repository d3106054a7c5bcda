-- Collectives: one row per kernel of a collective with a usable time; kernels and copies that carry out one collective
-- share a row.
--
-- The name is that of the description, else of the annotation around the launch, else of the kernel, spelled as in
-- `seeds.collective`; `unknown` if none of them identifies it (old versions of NCCL have one kernel name for all
-- collectives). Sizes are elements × size of the data type, NULL if the trace has none.
--
-- Algorithm bytes are the basis of bandwidths: for allgather the output (input × n), for reducescatter the input
-- (output × n), for gather and scatter the size of one rank × n, for recv the output, for others the input. An
-- all-to-all with split sizes has no such size; `sent_bytes` is what it sends to other ranks. The bus factor is the
-- share that crosses the slowest link: 2(n−1)/n for allreduce, (n−1)/n for allgather, reducescatter, alltoall, gather
-- and scatter, else 1; NULL if nothing leaves the rank. Sizes that contradict each other are a misfit.
--
-- On an Ascend device the message has `count` elements. They are the input; for allreduce, broadcast, send and recv
-- also the output. The group is that of the track or of CANN's communication analysis, under its name in the job if the
-- metadata has it.
--
-- The sequence is `Seq`, which a coalesced group shares, else the position among the run's collectives of the same
-- process group. Point-to-point operations are counted separately, as in PyTorch.
--
-- @title Collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @long Name, group, sizes and position of a collective come from one row of arguments, which only this view parses.
-- @column run_id id Run
-- @column event_index id Position of the event in the file, or of the first of several parts
-- @column step id Step that it belongs to
-- @column device id Device
-- @column collective_name name Name of the collective
-- @column kernel_name name Name of the kernel
-- @column process_group name Process group: its name, else its ranks
-- @column group_ranks text Ranks of the group, JSON
-- @column group_size count Ranks in the group
-- @column data_type category Type of an element
-- @column is_point_to_point flag Does it go from one rank to another, rather than among the whole group?
-- @column sequence id Number within the process group
-- @column has_sequence flag Is that number recorded? If not, it is the position
-- @column place id Position among the collectives of the same name and number, from 0
-- @column input_bytes bytes Size of the input
-- @column output_bytes bytes Size of the output
-- @column algorithm_bytes bytes Size that bandwidths are computed from
-- @column sent_bytes bytes Bytes that an all-to-all with split sizes sends to other ranks
-- @column bus_factor ratio Bus bandwidth / algorithm bandwidth
-- @column is_misfit flag Do sizes, kind and group contradict each other? NULL if one of them is not known
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration; of several parts, the time in which at least one ran
-- @column end_ns timestamp_ns End
with
collective as (
    select
        part.* exclude (input_type, input_elements),
        coalesce(
            job.group_name,
            part.track_group,
            analysed.process_group,
            args ->> '$."Process Group Name"',
            args ->> '$."Process Group Ranks"'
        ) as process_group,
        args ->> '$."Process Group Ranks"' as group_ranks,
        nullif(args ->> '$."Collective name"', '') as recorded_name,
        coalesce(args ->> '$.dtype', case when is_npu then args ->> '$.data_type' end, told.data_type) as data_type,
        coalesce(
            case
                when
                    try_cast(args ->> '$."Group size"' as bigint) > 0
                    then try_cast(args ->> '$."Group size"' as bigint)
            end,
            job.group_size
        ) as group_size,
        try_cast(args ->> '$."In msg nelems"' as bigint) as input_elements,
        try_cast(args ->> '$."Out msg nelems"' as bigint) as output_elements,
        case when is_npu then try_cast(args ->> '$.count' as bigint) end as message_elements,
        case when told.data_type is not null then part.input_elements end as told_elements,
        try_cast(args ->> '$.Seq' as bigint) as recorded_sequence,
        nullif(nullif(args ->> '$."In split size"', '[]'), '') as input_split,
        nullif(nullif(args ->> '$."Out split size"', '[]'), '') as output_split,
        coalesce(
            try_cast(args ->> '$.Rank' as bigint),
            list_position(try_cast(args ->> '$."Process Group Ranks"' as bigint[]), run.rank) - 1,
            case when try_cast(args ->> '$."Group size"' as bigint) = run.world_size then run.rank end
        ) as own_place
    from intermediate.int_collective_part as part
    inner join staging.stg_run as run on part.run_id = run.run_id
    left join seeds.data_type as told on part.input_type = told.data_type
    left join (
        select run_id, operation_name, any_value(process_group) as process_group
        from staging.stg_communication_operation
        group by run_id, operation_name
    ) as analysed
        on part.run_id = analysed.run_id and part.activity_name = analysed.operation_name
    left join staging.stg_process_group as job
        on part.run_id = job.run_id and coalesce(part.track_group, analysed.process_group) = job.process_group
),

kind as (
    select name.name, min_by(pattern.collective, pattern.rule_order) as kind
    from (select distinct unnest([recorded_name, annotated_name, kernel_symbol]) as name from collective) as name
    inner join seeds.collective as pattern on lower(name.name) glob pattern.pattern
    group by name.name
),

named as (
    select
        collective.*,
        coalesce(recorded.kind, lower(collective.recorded_name), annotated.kind, by_kernel.kind, 'unknown')
            as collective_name,
        data_type.element_bytes
    from collective
    left join kind as recorded on collective.recorded_name = recorded.name
    left join kind as annotated on collective.annotated_name = annotated.name
    left join kind as by_kernel on collective.kernel_symbol = by_kernel.name
    left join seeds.data_type as data_type on lower(collective.data_type) = data_type.data_type
),

sized as (
    select
        *,
        macros.product(coalesce(input_elements, message_elements, told_elements), element_bytes) as input_bytes,
        macros.product(
            coalesce(
                output_elements,
                case when collective_name in ('allreduce', 'broadcast', 'send', 'recv') then message_elements end
            ),
            element_bytes
        ) as output_bytes,
        collective_name = 'alltoall'
        and (coalesce(input_split, output_split) is not null or told_elements is not null) as is_uneven,
        list_sum(try_cast(input_split as bigint[])) as split_sum,
        try_cast(input_split as bigint[])[own_place + 1] as own_split
    from named
),

moved as (
    select
        *,
        collective_name in ('send', 'recv', 'signal') as is_point_to_point,
        case
            when collective_name <> 'alltoall' or input_split is null then null
            when split_sum = 0 then 0
            else try_cast(input_bytes - input_bytes * own_split::hugeint // split_sum as bigint)
        end as sent_bytes,
        group_size = 1 or coalesce(collective_name = 'alltoall' and own_split = split_sum, false) as stays
    from sized
)

select
    run_id,
    event_index,
    step,
    device,
    collective_name,
    activity_name as kernel_name,
    process_group,
    group_ranks,
    group_size,
    data_type,
    is_point_to_point,
    coalesce(
        recorded_sequence,
        row_number() over (
            partition by run_id, process_group, recorded_sequence is null, is_point_to_point
            order by start_ns, event_index
        ) - 1
    ) as sequence,
    recorded_sequence is not null as has_sequence,
    case
        when recorded_sequence is null then 0
        else
            row_number() over (
                partition by run_id, process_group, group_ranks, recorded_sequence, collective_name
                order by start_ns, event_index
            ) - 1
    end as place,
    input_bytes,
    output_bytes,
    case collective_name
        when 'allgather' then coalesce(output_bytes, macros.product(input_bytes, group_size))
        when 'reducescatter' then coalesce(input_bytes, macros.product(output_bytes, group_size))
        when 'gather' then coalesce(macros.product(input_bytes, group_size), output_bytes)
        when 'scatter' then coalesce(macros.product(output_bytes, group_size), input_bytes)
        when 'recv' then coalesce(output_bytes, input_bytes)
        when 'alltoall' then case when not is_uneven then coalesce(input_bytes, output_bytes) end
        else coalesce(input_bytes, output_bytes)
    end as algorithm_bytes,
    sent_bytes,
    case
        when group_size is null or stays then null
        when collective_name = 'allreduce' then 2.0::double * (group_size - 1) / group_size
        when
            collective_name in ('allgather', 'reducescatter', 'alltoall', 'gather', 'scatter')
            then 1.0::double * (group_size - 1) / group_size
        else 1.0::double
    end as bus_factor,
    case
        when is_npu then null
        when collective_name in ('allreduce', 'broadcast', 'reduce') then input_bytes <> output_bytes
        when collective_name = 'alltoall' then not is_uneven and input_bytes <> output_bytes
        when collective_name in ('allgather', 'gather') then output_bytes::hugeint <> input_bytes::hugeint * group_size
        when
            collective_name in ('reducescatter', 'scatter')
            then input_bytes::hugeint <> output_bytes::hugeint * group_size
    end as is_misfit,
    start_ns,
    duration_ns,
    end_ns
from moved
