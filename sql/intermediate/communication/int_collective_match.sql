-- Collectives matched across the ranks of one execution: one row per collective of an execution with several ranks.
--
-- Only collectives of one process group match. Those with a recorded sequence number match by it; those that share a
-- number, in their order. Those without one match by position in the group, if all its ranks have the same sequence of
-- kinds and sizes. The rest match by overlap: same kind, at most one per rank, and all running at some moment on one
-- clock. What is left is not matched (matched_by is NULL). Two recordings of one rank are never two ranks: if a rank
-- has a number in both, only collectives that overlap match. Point-to-point operations never match.
--
-- @title Matching of collectives
-- @grain run_id, event_index
-- @order label, process_group, match_number, rank
-- @long Three ways of matching share one list of collectives; each takes those that the one before left.
-- @column run_id id Run
-- @column event_index id Position of the event in the file
-- @column label name Label of the execution
-- @column rank id Rank
-- @column process_group name Process group
-- @column group_ranks text Ranks of the group
-- @column collective_name name Name of the collective
-- @column matched_by category sequence, place or overlap; NULL if not matched
-- @column match_number id What matched collectives share: sequence number, position, or number among overlapping ones
-- @column place id Position among the collectives of the same name and sequence number
-- @column duration_ns duration_ns Duration
-- @column start_ns timestamp_ns Start, in Unix time
-- @column end_ns timestamp_ns End, in Unix time
-- @column input_bytes bytes Size of the input
-- @column algorithm_bytes bytes Size that bandwidths are counted on
with
collective as (
    select
        run.label,
        run.rank,
        coalesce(run.rank::varchar, run.run_id) as member,
        collective.run_id,
        collective.event_index,
        collective.process_group,
        collective.group_ranks,
        collective.collective_name,
        collective.is_point_to_point,
        collective.sequence,
        collective.has_sequence,
        collective.place,
        collective.duration_ns,
        collective.start_ns + coalesce(run.base_time_ns, 0) as start_ns,
        collective.end_ns + coalesce(run.base_time_ns, 0) as end_ns,
        collective.input_bytes,
        collective.algorithm_bytes,
        case
            when
                collective.collective_name in (
                    'allreduce', 'broadcast', 'reduce', 'allgather', 'reducescatter', 'alltoall'
                )
                then collective.algorithm_bytes
        end as common_bytes
    from intermediate.int_collective as collective
    inner join staging.stg_run as run on collective.run_id = run.run_id
    where run.label in (select label from staging.stg_run group by label having count(*) > 1)
),

agreed as (
    select label, process_group, group_ranks
    from (
        select
            label,
            process_group,
            group_ranks,
            member,
            list({'kind': collective_name, 'bytes': common_bytes} order by sequence) as kinds
        from collective
        where not has_sequence and not is_point_to_point
        group by label, process_group, group_ranks, run_id, member
    )
    group by label, process_group, group_ranks
    having count(*) > 1 and count(distinct kinds) = 1 and count(distinct member) = count(*)
),

placed as (
    select
        collective.*,
        case when collective.has_sequence then collective.sequence end as number,
        case
            when collective.is_point_to_point then null
            when agreed.label is not null then 'place'
            when
                collective.has_sequence and count(*) over same = count(distinct collective.member) over same
                then 'sequence'
        end as matched_by
    from collective
    left join agreed
        on
            not collective.has_sequence
            and collective.label = agreed.label
            and collective.process_group is not distinct from agreed.process_group
            and collective.group_ranks is not distinct from agreed.group_ranks
    window same as (
        partition by
            collective.label,
            collective.process_group,
            collective.group_ranks,
            collective.collective_name,
            collective.has_sequence,
            collective.sequence,
            collective.place
    )
),

-- Back to back is no overlap, since times may be rounded.
island as (
    select
        *,
        count(*) filter (where coalesce(start_ns >= until_ns, true)) over (
            partition by label, process_group, group_ranks, collective_name, number, place
            order by start_ns, end_ns, run_id, event_index
        ) as island
    from (
        select
            *,
            max(end_ns) over (
                partition by label, process_group, group_ranks, collective_name, number, place
                order by start_ns, end_ns, run_id, event_index
                rows between unbounded preceding and 1 preceding
            ) as until_ns
        from placed
        where matched_by is null and not is_point_to_point
    )
),

together as (
    select
        *,
        count(*) over one > 1
        and count(*) over one = count(distinct member) over one
        and max(start_ns) over one < min(end_ns) over one as is_match
    from island
    window one as (partition by label, process_group, group_ranks, collective_name, number, place, island)
)

select
    run_id,
    event_index,
    label,
    rank,
    process_group,
    group_ranks,
    collective_name,
    matched_by,
    sequence as match_number,
    place,
    duration_ns,
    start_ns,
    end_ns,
    input_bytes,
    algorithm_bytes
from placed
where matched_by is not null or is_point_to_point
union all by name
select
    run_id,
    event_index,
    label,
    rank,
    process_group,
    group_ranks,
    collective_name,
    case when is_match then 'overlap' end as matched_by,
    case
        when is_match
            then dense_rank() over (
                partition by label, process_group, group_ranks, collective_name, place, is_match order by number, island
            ) - 1
    end as match_number,
    place,
    duration_ns,
    start_ns,
    end_ns,
    input_bytes,
    algorithm_bytes
from together
