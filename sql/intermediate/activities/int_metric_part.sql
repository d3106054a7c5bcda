-- Metrics that a run adds below those of the tree: one row per run, step, device and metric.
--
-- Computing Time is split by class of kernel, each class by unit, and attention and convolution also by pass. Uncovered
-- communication of an Ascend device is split by process group, each into waiting and transmitting. A kernel that both
-- computes and communicates counts as computing for the time of the matrix core, and as communicating for the rest.
--
-- @title Parts of metrics
-- @grain run_id, step, device, branch, metric, parent_metric
-- @order run_id, step, device, branch, place
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
-- @column device id Device
-- @column branch name Metric of the tree that it is below
-- @column parent_metric name Metric that contains it
-- @column levels depth Levels below the branch
-- @column place text Position below the branch
-- @column metric name Metric
-- @column duration_ns duration_ns Time
-- @column call_count count Activities that it sums up
-- @column total_duration_ns duration_ns Sum of their durations (overlaps count more than once)
with
kernel_class as (
    select
        run_id,
        step,
        device,
        kernel_class,
        case when grouping(detail) = 0 then detail end as detail,
        sum(compute_part_ns)::bigint as duration_ns,
        count(*) as call_count,
        sum(end_ns - start_ns)::bigint as total_duration_ns
    from (
        select
            *,
            case
                when kernel_class in ('Flash Attention', 'Conv')
                    then case when is_backward then 'Backward, ' else 'Forward, ' end || kernel_unit
                else kernel_unit
            end as detail
        from intermediate.int_device_time
        where activity_class = 'compute'
    )
    group by grouping sets ((run_id, step, device, kernel_class), (run_id, step, device, kernel_class, detail))
    having grouping(detail) = 1 or detail is not null
),

process_group as (
    select
        run_id,
        step,
        device,
        unnest([
            {
                'metric': name, 'parent_metric': branch, 'levels': 1, 'place': place, 'duration_ns': uncovered_ns,
                'call_count': collective_count
            },
            {
                'metric': name || ' (Wait)', 'parent_metric': name, 'levels': 2, 'place': place || ' 1',
                'duration_ns': wait_ns, 'call_count': null
            },
            {
                'metric': name || ' (Transmit)', 'parent_metric': name, 'levels': 2, 'place': place || ' 2',
                'duration_ns': uncovered_ns - wait_ns, 'call_count': null
            }
        ], recursive := true)
    from (
        select
            *,
            'Uncovered Communication Time' as branch,
            coalesce(process_group, '(not recorded)') as place,
            'Group ' || coalesce(process_group, '(not recorded)') as name
        from intermediate.int_communication_wait
    )
),

fused as (
    select
        run_id,
        step,
        device,
        unnest([
            {
                'metric': kernel_class || ' (Computing)', 'place': kernel_class || ' 1',
                'duration_ns': sum(core_ns)::bigint
            },
            {
                'metric': kernel_class || ' (Communication)', 'place': kernel_class || ' 2',
                'duration_ns': (sum(end_ns - start_ns) - sum(core_ns))::bigint
            }
        ], recursive := true),
        count(*) as call_count,
        any_value(kernel_class) as parent_metric
    from intermediate.int_device_time
    where kernel_class = 'Fused Compute and Communication' and core_ns is not null
    group by run_id, step, device, kernel_class
)

select
    run_id,
    step,
    device,
    'Computing Time' as branch,
    case when detail is null then 'Computing Time' else kernel_class end as parent_metric,
    case when detail is null then 1 else 2 end::integer as levels,
    kernel_class || coalesce(' ' || detail, '') as place,
    kernel_class || coalesce(' (' || detail || ')', '') as metric,
    duration_ns,
    call_count,
    total_duration_ns
from kernel_class
union all by name
select
    run_id,
    step,
    device,
    'Uncovered Communication Time' as branch,
    parent_metric,
    levels::integer as levels,
    place,
    metric,
    duration_ns,
    call_count
from process_group
where duration_ns is not null
union all by name
select
    run_id, step, device, 'Computing Time' as branch, parent_metric, 2 as levels, place, metric, duration_ns, call_count
from fused
