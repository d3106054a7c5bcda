-- Transfers of collectives of two runs side by side, by transport: one row per pair of scopes and transport.
--
-- RDMA, and SDMA with its links HCCS, PCIE and SIO, from CANN's analysis of communication. A missing side counts as nothing in a
-- difference; bandwidths have none.
--
-- @title Transports
-- @sheet TransportCompare
-- @position 65
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, transport
-- @order diff_transit_duration_ns desc, transport
-- @rank diff_transit_duration_ns
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column transport category RDMA, SDMA, HCCS, PCIE, SIO
-- @column base_transit_duration_ns duration_ns Time of the transfers, base
-- @column base_bytes bytes Bytes moved, base
-- @column base_transport_bandwidth bandwidth Bytes / time, base
-- @column base_transfer_count count Collectives that used it, base
-- @column comparison_transit_duration_ns duration_ns Time of the transfers, comparison
-- @column comparison_bytes bytes Bytes moved, comparison
-- @column comparison_transport_bandwidth bandwidth Bytes / time, comparison
-- @column comparison_transfer_count count Collectives that used it, comparison
-- @column diff_transit_duration_ns duration_ns Time of the transfers, comparison − base
-- @column diff_bytes bytes Bytes moved, comparison − base
-- @column ratio_transit_duration_ns ratio Time of the transfers, comparison / base
with
either as (
    select pair.*, transport.transport
    from intermediate.int_scope_pair as pair
    inner join marts.communication_transport as transport
        on pair.base_run_id = transport.run_id and pair.base_step is not distinct from transport.step
    union
    select pair.*, transport.transport
    from intermediate.int_scope_pair as pair
    inner join marts.communication_transport as transport
        on pair.comparison_run_id = transport.run_id and pair.comparison_step is not distinct from transport.step
)

select
    either.base_run_id,
    either.base_step,
    either.comparison_run_id,
    either.comparison_step,
    either.transport,
    base.transit_duration_ns as base_transit_duration_ns,
    base.bytes as base_bytes,
    base.transport_bandwidth as base_transport_bandwidth,
    base.transfer_count as base_transfer_count,
    comparison.transit_duration_ns as comparison_transit_duration_ns,
    comparison.bytes as comparison_bytes,
    comparison.transport_bandwidth as comparison_transport_bandwidth,
    comparison.transfer_count as comparison_transfer_count,
    macros.or_nothing(comparison.run_id, comparison.transit_duration_ns) - macros.or_nothing(base.run_id, base.transit_duration_ns)
        as diff_transit_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.bytes) - macros.or_nothing(base.run_id, base.bytes) as diff_bytes,
    macros.ratio(base.transit_duration_ns, comparison.transit_duration_ns) as ratio_transit_duration_ns
from either
left join marts.communication_transport as base
    on
        either.base_run_id = base.run_id
        and either.base_step is not distinct from base.step
        and either.transport = base.transport
left join marts.communication_transport as comparison
    on
        either.comparison_run_id = comparison.run_id
        and either.comparison_step is not distinct from comparison.step
        and either.transport = comparison.transport
