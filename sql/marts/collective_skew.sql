-- Collectives across the ranks of one execution: one row per collective and rank.
--
-- Runs with the same label are ranks of one execution. Collectives match by process group and sequence number. Without
-- numbers they match by their position in the group, if all ranks have the same sequence of kinds and sizes, else by
-- overlap with collectives of the same kind, at most one per rank. The base time of each trace puts times on one clock.
-- A match is consistent if no rank ended before the last one started, since no rank can leave a collective earlier.
-- Only consistent matches have times: a rank waits from its own start to the last rank's start, and transfers from
-- there to its own end. Collectives that only one rank recorded have no rows, nor do point-to-point operations (send,
-- recv), which are not matched; `marts.rank_clock` counts both.
--
-- @title Collectives across ranks
-- @grain label, process_group, group_ranks, matched_by, sequence, place, collective_name, run_id
-- @order label, process_group, sequence, place, collective_name, rank
-- @column run_id id Run
-- @column label name Label of the execution
-- @column rank id Rank
-- @column process_group name Process group
-- @column sequence id Number of the collective within its process group; for a match by overlap, a number within group and name
-- @column collective_name name Name of the collective
-- @column rank_count count Ranks that recorded it
-- @column duration_ns duration_ns Duration on this rank
-- @column start_skew_ns duration_ns From the first rank's start to the last rank's start
-- @column wait_ns duration_ns Time that this rank waited for the last one
-- @column transfer_ns duration_ns From the last rank's start to this rank's end
-- @column is_last_to_arrive flag Did the other ranks wait for this one?
-- @column algorithm_bytes bytes Size that the bandwidth is computed from
-- @column algorithm_bandwidth bandwidth Size / transfer time
-- @column group_ranks text Ranks of the group (JSON), if recorded
-- @column place id Position among the collectives with this name and number, as in a coalesced group, from 0
-- @column matched_by category How it was matched: sequence, place or overlap
-- @column is_consistent flag Did the last rank start before the first one ended?
-- @column end_skew_ns duration_ns From the first rank's end to the last rank's end
-- @column size_imbalance ratio Of an all-to-all: largest input of a rank / average input
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
        case
            when collective_name = 'alltoall' then max(input_bytes) over same / nullif(avg(input_bytes) over same, 0)
        end as size_imbalance
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
