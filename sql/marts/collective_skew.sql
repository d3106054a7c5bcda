-- Collectives across the ranks of one execution: one row per collective and rank.
--
-- Runs of one label are ranks of one execution. A collective is matched by process group and sequence number; without numbers by
-- its place in the group, if all ranks have the same sequence of kinds; else by overlapping with one of the same kind on every rank. Times
-- are put on one clock with the base time of each trace. A match is consistent if no rank ended before the last one started: until then, none
-- can leave. Only then are there times: waiting is from a rank's start to the last rank's start, and the
-- transfer is from there to the rank's own end. Only collectives that at least two ranks recorded have rows; `marts.rank_clock` counts the
-- others, and what goes from one rank to another (send, recv), which is matched with none.
--
-- @title Collectives across ranks
-- @grain label, process_group, group_ranks, matched_by, sequence, place, collective_name, run_id
-- @order label, process_group, sequence, place, collective_name, rank
-- @column run_id id Run
-- @column label name Label of the execution
-- @column rank id Rank
-- @column process_group name Process group
-- @column sequence id Number of the collective within its process group; of a match by overlap, its number within group and name
-- @column collective_name name Name of the collective
-- @column rank_count count Ranks that recorded it
-- @column duration_ns duration_ns Duration on this rank
-- @column start_skew_ns duration_ns From the first rank's start to the last rank's
-- @column wait_ns duration_ns Time that this rank waited for the last one
-- @column transfer_ns duration_ns From the last rank's start to this rank's end
-- @column is_last_to_arrive flag Did the others wait for this rank?
-- @column algorithm_bytes bytes Size that the bandwidth is counted on
-- @column algorithm_bandwidth bandwidth Size / transfer
-- @column group_ranks text Ranks of the group, JSON, where they are recorded
-- @column place id Place among those that share name and number, as in a coalesced group, from 0
-- @column matched_by category sequence, place or overlap
-- @column is_consistent flag Had the last rank started when the first one ended?
-- @column end_skew_ns duration_ns From the first rank's end to the last rank's
-- @column size_imbalance ratio Largest input of a rank / average, of an all-to-all
with
matched as (
    select
        *,
        count(distinct run_id) over same as rank_count,
        max(start_ns) over same as last_start_ns,
        min(start_ns) over same as first_start_ns,
        max(end_ns) over same as last_end_ns,
        max(start_ns) over same <= min(end_ns) over same as is_consistent,
        min(end_ns) over same as first_end_ns,
        case when collective_name = 'alltoall' then max(input_bytes) over same / nullif(avg(input_bytes) over same, 0) end
            as size_imbalance
    from intermediate.int_collective_match
    where matched_by is not null
    window same as (partition by label, process_group, group_ranks, matched_by, match_number, place, collective_name)
)

select
    run_id,
    label,
    rank,
    process_group,
    match_number as sequence,
    collective_name,
    rank_count,
    duration_ns,
    case when is_consistent then last_start_ns - first_start_ns end as start_skew_ns,
    case when is_consistent then last_start_ns - start_ns end as wait_ns,
    case when is_consistent then end_ns - last_start_ns end as transfer_ns,
    case when is_consistent then last_start_ns = start_ns end as is_last_to_arrive,
    algorithm_bytes,
    case when is_consistent then macros.bandwidth(algorithm_bytes, end_ns - last_start_ns) end as algorithm_bandwidth,
    group_ranks,
    place,
    matched_by,
    is_consistent,
    case when is_consistent then last_end_ns - first_end_ns end as end_skew_ns,
    size_imbalance
from matched
where rank_count > 1
