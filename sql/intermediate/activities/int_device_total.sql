-- Totals of each device: one row per run, step and device.
--
-- Each instant counts once: as computing, else as communication, else as copies. If an Ascend profiler wrote an Overlap
-- Analysis of the device, the figures of the whole run come from it, even if the trace has no activities. Tables of
-- kernels without a trace do not record copies.
--
-- @title Device totals
-- @grain run_id, step, device
-- @order run_id, step, device
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device
-- @column e2e_ns duration_ns From the first start to the last end
-- @column compute_ns duration_ns Time in which kernels computed
-- @column communication_ns duration_ns Time in which collectives ran
-- @column busy_ns duration_ns Time in which kernels computed or collectives ran
-- @column active_ns duration_ns Time with any activity, copies included; NULL if copies are not recorded
-- @column compute_count count Kernels that compute
-- @column communication_count count Kernels of collectives
-- @column copy_count count Copies; NULL if not recorded
-- @column compute_total_ns duration_ns Sum of the durations of kernels that compute
-- @column communication_total_ns duration_ns Sum of the durations of kernels of collectives
-- @column copy_total_ns duration_ns Sum of the durations of copies
with
counted as (
    select
        run_id,
        step,
        device,
        max(end_ns) - min(start_ns) as e2e_ns,
        sum(compute_part_ns)::bigint as compute_ns,
        sum(communication_part_ns)::bigint as communication_ns,
        sum(busy_part_ns)::bigint as busy_ns,
        sum(active_part_ns)::bigint as active_ns,
        count(*) filter (where activity_class = 'compute') as compute_count,
        count(*) filter (where activity_class = 'communication') as communication_count,
        count(*) filter (where activity_class = 'copy') as copy_count,
        sum(end_ns - start_ns) filter (where activity_class = 'compute')::bigint as compute_total_ns,
        sum(end_ns - start_ns) filter (where activity_class = 'communication')::bigint as communication_total_ns,
        sum(end_ns - start_ns) filter (where activity_class = 'copy')::bigint as copy_total_ns
    from intermediate.int_device_time
    group by run_id, step, device
)

select
    counted.* replace (
        coalesce(overlap.e2e_ns, counted.e2e_ns) as e2e_ns,
        coalesce(overlap.compute_ns, counted.compute_ns) as compute_ns,
        coalesce(overlap.communication_ns, counted.communication_ns) as communication_ns,
        coalesce(overlap.compute_ns + overlap.uncovered_ns, counted.busy_ns) as busy_ns,
        case
            when size.has_timeline
                then coalesce(
                    least(
                        overlap.compute_ns + overlap.uncovered_ns + counted.active_ns - counted.busy_ns, overlap.e2e_ns
                    ),
                    counted.active_ns
                )
        end as active_ns,
        case when size.has_timeline then counted.copy_count end as copy_count
    )
from counted
inner join intermediate.int_run_size as size on counted.run_id = size.run_id
left join intermediate.int_overlap as overlap
    on counted.run_id = overlap.run_id and counted.device = overlap.device and counted.step is null
union all by name
select run_id, null::bigint as step, device, e2e_ns, compute_ns, communication_ns, compute_ns + uncovered_ns as busy_ns
from intermediate.int_overlap
where (run_id, device) not in (select (run_id, device) from counted)
