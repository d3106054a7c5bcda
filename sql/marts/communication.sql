-- Collectives: one row per run, step, collective, process group, group size and data type.
--
-- Bandwidths cover the calls whose size is known: algorithm bandwidth is bytes / time, and bus bandwidth is that × bus
-- factor. The time includes waiting for other ranks. An all-to-all with split sizes has neither; for it, the bytes that
-- it sends to other ranks give a bandwidth.
--
-- @title Communication
-- @grain run_id, step, collective_name, process_group, group_size, data_type
-- @order run_id, step, total_duration_ns desc, collective_name
-- @materialized
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column collective_name name Collective
-- @column process_group name Process group
-- @column group_size count Ranks in the group
-- @column data_type category Data type of an element
-- @column call_count count Calls
-- @column total_duration_ns duration_ns Sum of durations
-- @column average_duration_ns duration_ns Average duration, rounded to the nanosecond
-- @column max_duration_ns duration_ns Longest
-- @column min_duration_ns duration_ns Shortest
-- @column input_bytes bytes Total size of inputs
-- @column output_bytes bytes Total size of outputs
-- @column algorithm_bandwidth bandwidth Algorithm bandwidth
-- @column bus_bandwidth bandwidth Bus bandwidth
-- @column sent_bytes bytes Bytes that all-to-alls with split sizes send to other ranks
-- @column sent_bandwidth bandwidth Sent bytes / time of these calls
select
    run_id,
    step,
    collective_name,
    process_group,
    group_size,
    data_type,
    count(*) as call_count,
    sum(duration_ns)::bigint as total_duration_ns,
    round(avg(duration_ns))::bigint as average_duration_ns,
    max(duration_ns) as max_duration_ns,
    min(duration_ns) as min_duration_ns,
    sum(input_bytes)::bigint as input_bytes,
    sum(output_bytes)::bigint as output_bytes,
    macros.bandwidth(sum(algorithm_bytes), sum(duration_ns) filter (where algorithm_bytes is not null))
        as algorithm_bandwidth,
    macros.bandwidth(
        sum(algorithm_bytes * bus_factor), sum(duration_ns) filter (where algorithm_bytes * bus_factor is not null)
    ) as bus_bandwidth,
    sum(sent_bytes)::bigint as sent_bytes,
    macros.bandwidth(sum(sent_bytes), sum(duration_ns) filter (where sent_bytes is not null)) as sent_bandwidth
from intermediate.int_collective
group by
    grouping sets (
        (run_id, collective_name, process_group, group_size, data_type),
        (run_id, step, collective_name, process_group, group_size, data_type)
    )
having grouping(step) = 1 or step is not null
