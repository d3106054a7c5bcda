-- Transfers of collectives by transport: one row per run, step and transport.
--
-- The figures come from CANN's communication analysis (Level1 and up). HCCS, PCIE and SIO are links of SDMA. The
-- bandwidth is bytes / transfer time, without waiting.
--
-- @title Transports
-- @grain run_id, step, transport
-- @order run_id, step, transport
-- @materialized
-- @sheet TransportCompare
-- @position 65
-- @comparison communication_transport_comparison
-- @key transport
-- @measure transit_duration_ns sum, difference, ratio, rank
-- @measure bytes sum, difference
-- @measure transport_bandwidth none
-- @measure transfer_count sum
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column transport category RDMA, SDMA, HCCS, PCIE or SIO
-- @column transfer_count count Collectives that used it
-- @column bytes bytes Bytes moved
-- @column transit_duration_ns duration_ns Transfer time
-- @column transport_bandwidth bandwidth Bytes / transfer time
select
    run_id,
    step,
    transport,
    count(*) filter (where bytes > 0) as transfer_count,
    sum(bytes)::bigint as bytes,
    sum(transit_ns)::bigint as transit_duration_ns,
    macros.bandwidth(sum(bytes), sum(transit_ns)) as transport_bandwidth
from staging.stg_communication_transfer
group by grouping sets ((run_id, transport), (run_id, step, transport))
having grouping(step) = 1 or step is not null
