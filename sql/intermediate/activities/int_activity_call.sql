-- Host calls that launched device activities: one row per device activity.
--
-- The launch is the runtime call (in traces of XLA, the annotation) with the activity's correlation id; a graph launch
-- has many activities. If no call has that id, a flow that ends at the activity leads to the launch. On an Ascend
-- device this is the start of the flow, elsewhere the call around it. The operators are those open at the launch.
-- External ids are a separate id space: they identify the operator only if the launch does not.
--
-- @title Launching calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position of the activity in the file
-- @column start_ns timestamp_ns Start of the activity
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on
-- @column external_id id External id of the operator, for activities without a launch
-- @column recorded_step id Step that the profiler assigned it to
-- @column launch_index id Runtime call that launched it, or call in which a flow to it starts
-- @column launch_name name Name of that call
-- @column launch_start_ns timestamp_ns Start of that call
-- @column operator_index id Innermost operator around the launch: position in the file
-- @column top_operator_index id Outermost operator around the launch
-- @column launch_step id Step of the launch
with
correlated as (
    select run_id, correlation, min(event_index) as launch_index
    from intermediate.int_host_call
    where call_kind in ('runtime', 'annotation') and correlation is not null
    group by run_id, correlation
),

launched as (
    select
        activity.run_id,
        activity.event_index,
        activity.start_ns,
        activity.device,
        activity.stream,
        activity.external_id,
        activity.recorded_step,
        launch.event_index as launch_index,
        launch.call_name as launch_name,
        launch.start_ns as launch_start_ns,
        launch.operator_index,
        launch.top_operator_index,
        launch.step as launch_step
    from intermediate.int_activity as activity
    left join correlated
        on activity.run_id = correlated.run_id and activity.correlation = correlated.correlation
    left join intermediate.int_flow_launch as flow
        on activity.run_id = flow.run_id and activity.event_index = flow.event_index
    left join intermediate.int_host_call as launch
        on
            activity.run_id = launch.run_id
            and coalesce(correlated.launch_index, activity.flow_index, flow.call_index) = launch.event_index
),

named_operator as (
    select
        run_id,
        external_id,
        min_by({'operator_index': operator_index, 'top_operator_index': top_operator_index}, event_index) as call
    from intermediate.int_host_call
    where
        call_kind = 'operator'
        and (run_id, external_id) in (select (run_id, external_id) from launched where operator_index is null)
    group by run_id, external_id
)

select
    launched.* replace (
        coalesce(launched.operator_index, named_operator.call.operator_index) as operator_index,
        coalesce(launched.top_operator_index, named_operator.call.top_operator_index) as top_operator_index
    )
from launched
left join named_operator
    on launched.run_id = named_operator.run_id and launched.external_id = named_operator.external_id
