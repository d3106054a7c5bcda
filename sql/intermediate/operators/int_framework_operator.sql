-- Framework operators by which kernels of different devices match: one row per launch of device activities within one.
--
-- The operator is the outermost one of the framework's dispatcher (`namespace::name`, but not autograd's own) open at
-- the launch. Operators nested in it differ between devices: `aten::cudnn_convolution` on one, `Conv2D` on another.
--
-- @title Framework operators
-- @grain run_id, launch_index
-- @order run_id, launch_index
-- @column run_id id Run
-- @column launch_index id The launch
-- @column operator_name name Operator
-- @column operator_shapes text Shapes of its inputs
with
operator as (
    select *
    from intermediate.int_host_call
    where call_kind = 'operator' and call_name like '%::%' and call_name not like 'autograd::%'
    qualify start_ns >= coalesce(
        max(end_ns) over (
            partition by run_id, pid, tid order by start_ns, end_ns desc, event_index
            rows between unbounded preceding and 1 preceding
        ),
        start_ns
    )
),

around as (
    select launch.run_id, launch.event_index as launch_index, operator.call_name as operator_name, operator.input_shapes
    from (
        select call.*
        from intermediate.int_host_call as call
        inner join (select distinct run_id, launch_index from intermediate.int_device_activity) as launched
            on call.run_id = launched.run_id and call.event_index = launched.launch_index
    ) as launch
    asof inner join operator
        on
            launch.run_id = operator.run_id
            and launch.pid = operator.pid
            and launch.tid = operator.tid
            and launch.start_ns >= operator.start_ns
    where launch.start_ns < operator.end_ns
),

-- There are far fewer shapes than launches, and rewriting one is costly.
shape as (
    select input_shapes, macros.shapes_text(input_shapes) as operator_shapes
    from (select distinct input_shapes from around)
)

select around.run_id, around.launch_index, around.operator_name, shape.operator_shapes
from around
left join shape on around.input_shapes = shape.input_shapes
