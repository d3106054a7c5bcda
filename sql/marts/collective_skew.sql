-- Collectives across the ranks of one execution: one row per collective and rank.
--
-- Runs of one label are ranks of one execution. A collective is matched by process group and sequence, never by time; times
-- are put on one clock with the base time of each trace. Waiting is from a rank's start to the last rank's start; the
-- transfer is from there to the rank's own end, NULL where the rank had ended before (its clock is off). Only collectives that at least two ranks recorded have rows.
--
-- @title Collectives across ranks
-- @grain label, process_group, sequence, collective_name, run_id
-- @order label, process_group, sequence, collective_name, rank
-- @column run_id id Run
-- @column label name Label of the execution
-- @column rank id Rank
-- @column process_group name Process group
-- @column sequence id Number of the collective within its process group
-- @column collective_name name Collective
-- @column rank_count count Ranks that recorded it
-- @column duration_ns duration_ns Duration on this rank
-- @column start_skew_ns duration_ns From the first rank's start to the last rank's
-- @column wait_ns duration_ns Time that this rank waited for the last one
-- @column transfer_ns duration_ns From the last rank's start to this rank's end
-- @column is_last_to_arrive flag Did the others wait for this rank?
-- @column algorithm_bytes bytes Size that the bandwidth is counted on
-- @column algorithm_bandwidth bandwidth Size / transfer
with
collective as (
    select
        run.label,
        run.rank,
        collective.*,
        collective.start_ns + coalesce(run.base_time_ns, 0) as absolute_start_ns,
        collective.end_ns + coalesce(run.base_time_ns, 0) as absolute_end_ns
    from intermediate.int_collective as collective
    inner join staging.stg_run as run on collective.run_id = run.run_id
),

matched as (
    select
        *,
        count(distinct run_id) over same as rank_count,
        max(absolute_start_ns) over same as last_start_ns,
        min(absolute_start_ns) over same as first_start_ns
    from collective
    window same as (partition by label, process_group, sequence, collective_name)
)

select
    run_id,
    label,
    rank,
    process_group,
    sequence,
    collective_name,
    rank_count,
    duration_ns,
    last_start_ns - first_start_ns as start_skew_ns,
    last_start_ns - absolute_start_ns as wait_ns,
    case when absolute_end_ns >= last_start_ns then absolute_end_ns - last_start_ns end as transfer_ns,
    last_start_ns = absolute_start_ns as is_last_to_arrive,
    algorithm_bytes,
    macros.bandwidth(algorithm_bytes, absolute_end_ns - last_start_ns) as algorithm_bandwidth
from matched
where rank_count > 1
