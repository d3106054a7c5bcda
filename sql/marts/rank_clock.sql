-- Clocks of the ranks of one execution, and how much of their communication was matched: one row per run of an
-- execution with several ranks.
--
-- In collectives where each rank needs data from every other rank, all ranks finish at almost the same time. The clock
-- offset is the median, over these collectives, of the rank's end − the reference's end. The reference is the lowest
-- rank. The offset is only reported: no view corrects its times by it.
--
-- @title Clocks of ranks
-- @grain label, run_id
-- @order label, rank, run_id
-- @column run_id id Run
-- @column label name Label of the execution
-- @column rank id Rank
-- @column reference_run_id id Run whose clock is the reference
-- @column collective_count count Collectives of the run
-- @column matched_count count Collectives matched with one of another rank
-- @column consistent_count count Matched collectives in which no rank ended before the last one started
-- @column clock_match_count count Collectives that the offset is computed from
-- @column clock_offset_ns duration_ns How far its clock is ahead of the reference's; NULL without a usable collective
with
matched as (
    select
        *,
        count(distinct run_id) over same > 1 as is_matched,
        count(distinct run_id) over same > 1 and max(start_ns) over same <= min(end_ns) over same as is_consistent
    from intermediate.int_collective_match
    where matched_by is not null
    window same as (partition by label, process_group, group_ranks, matched_by, match_number, place, collective_name)
),

ranked as (
    select
        run_id,
        label,
        rank,
        first_value(run_id) over (partition by label order by rank nulls last, run_id) as reference_run_id
    from staging.stg_run
    where label in (select label from staging.stg_run group by label having count(*) > 1)
),

counted as (
    select
        collective.run_id,
        count(*) as collective_count,
        count(*) filter (where matched.is_matched) as matched_count,
        count(*) filter (where matched.is_consistent) as consistent_count
    from intermediate.int_collective as collective
    left join matched on collective.run_id = matched.run_id and collective.event_index = matched.event_index
    group by collective.run_id
),

compared as (
    select
        own.run_id,
        count(*) as clock_match_count,
        round(median(own.end_ns - reference.end_ns))::bigint as clock_offset_ns
    from matched as own
    inner join ranked on own.run_id = ranked.run_id
    inner join matched as reference
        on
            ranked.reference_run_id = reference.run_id
            and own.label = reference.label
            and own.process_group is not distinct from reference.process_group
            and own.group_ranks is not distinct from reference.group_ranks
            and own.matched_by = reference.matched_by
            and own.match_number = reference.match_number
            and own.place = reference.place
            and own.collective_name = reference.collective_name
    where
        own.is_consistent
        and reference.is_consistent
        and own.collective_name in ('allreduce', 'reducescatter', 'allgather', 'alltoall', 'barrier')
    group by own.run_id
)

select
    ranked.run_id,
    ranked.label,
    ranked.rank,
    ranked.reference_run_id,
    coalesce(counted.collective_count, 0) as collective_count,
    coalesce(counted.matched_count, 0) as matched_count,
    coalesce(counted.consistent_count, 0) as consistent_count,
    coalesce(compared.clock_match_count, 0) as clock_match_count,
    compared.clock_offset_ns
from ranked
left join counted on ranked.run_id = counted.run_id
left join compared on ranked.run_id = compared.run_id
