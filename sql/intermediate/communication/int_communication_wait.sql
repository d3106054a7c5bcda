-- Uncovered communication of a process group on an Ascend device, as waiting and transmitting: one row per scope and
-- group.
--
-- Communication is uncovered while no kernel computes. The wait of a plane is the uncovered part of its waiting tasks.
-- The plane that waits least represents the group, since all planes serve the same exchange. The rest is transmitting.
-- Without tasks, neither is known.
--
-- @title Waiting for communication
-- @grain run_id, step, device, process_group
-- @order run_id, step, device, process_group
-- @materialized
-- @long Each step narrows the intervals of the one before; none has a use of its own.
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device
-- @column process_group name Group
-- @column collective_count count Collectives
-- @column uncovered_ns duration_ns Communication while no kernel computes
-- @column wait_ns duration_ns Waiting within it; NULL if tasks are not recorded
with
part as (
    select run_id, step, device, process_group, null::bigint as plane, start_ns, end_ns
    from intermediate.int_collective
    where (run_id, event_index) in (select (run_id, event_index) from intermediate.int_activity where is_collective)
    union all by name
    select run_id, step, device, process_group, plane, start_ns, end_ns
    from intermediate.int_collective_task
    where collective_index is not null and is_wait
),

kernel as (
    select
        run_id,
        step,
        device,
        start_ns,
        end_ns,
        sum(compute_part_ns) over (
            partition by run_id, step, device order by start_ns, end_ns desc, event_index
        )::bigint - compute_part_ns as compute_before_ns,
        max(end_ns) over (
            partition by run_id, step, device order by start_ns, end_ns desc, event_index
            rows between unbounded preceding and 1 preceding
        ) as computed_until_ns
    from intermediate.int_device_time
    where activity_class = 'compute' and run_id in (select run_id from part)
),

scoped as (
    select
        * exclude (step),
        unnest(case when step is null then [null] else [null, step] end) as step
    from part
),

-- The part of each interval of a plane, or of a group's collectives, that no earlier one covers.
apart as (
    select
        * exclude (start_ns),
        greatest(
            start_ns,
            coalesce(
                max(end_ns) over (
                    partition by run_id, step, device, process_group, plane order by start_ns, end_ns desc
                    rows between unbounded preceding and 1 preceding
                ),
                start_ns
            )
        ) as start_ns
    from scoped
),

-- Computing up to a time: all parts of kernels that started by then, less what the last one runs beyond it.
cut as (
    select
        apart.*,
        coalesce(
            first.compute_before_ns
            + greatest(0, least(apart.start_ns, first.end_ns) - greatest(first.start_ns, first.computed_until_ns)),
            0
        ) as before_start_ns,
        coalesce(
            last.compute_before_ns
            + greatest(0, least(apart.end_ns, last.end_ns) - greatest(last.start_ns, last.computed_until_ns)),
            0
        ) as before_end_ns
    from apart
    asof left join kernel as first
        on
            apart.run_id = first.run_id
            and coalesce(apart.step, -1) = coalesce(first.step, -1)
            and apart.device = first.device
            and apart.start_ns >= first.start_ns
    asof left join kernel as last
        on
            apart.run_id = last.run_id
            and coalesce(apart.step, -1) = coalesce(last.step, -1)
            and apart.device = last.device
            and apart.end_ns >= last.start_ns
    where apart.end_ns > apart.start_ns
),

plane as (
    select
        run_id,
        step,
        device,
        process_group,
        plane,
        count(*) as part_count,
        sum(end_ns - start_ns - (before_end_ns - before_start_ns))::bigint as uncovered_ns
    from cut
    group by run_id, step, device, process_group, plane
),

-- Every plane with tasks counts, even if it never waits.
waiting as (
    select
        task.run_id, task.step, task.device, task.process_group, min(coalesce(plane.uncovered_ns, 0))::bigint as wait_ns
    from (
        select distinct
            run_id,
            device,
            process_group,
            plane,
            unnest(case when step is null then [null] else [null, step] end) as step
        from intermediate.int_collective_task
        where collective_index is not null
    ) as task
    left join plane
        on
            task.run_id = plane.run_id
            and task.step is not distinct from plane.step
            and task.device = plane.device
            and task.process_group is not distinct from plane.process_group
            and task.plane = plane.plane
    group by task.run_id, task.step, task.device, task.process_group
)

select
    plane.run_id,
    plane.step,
    plane.device,
    plane.process_group,
    plane.part_count as collective_count,
    plane.uncovered_ns,
    waiting.wait_ns
from plane
left join waiting
    on
        plane.run_id = waiting.run_id
        and plane.step is not distinct from waiting.step
        and plane.device = waiting.device
        and plane.process_group is not distinct from waiting.process_group
where plane.plane is null
