-- Device activities of all kinds of source in one shape: one row per kernel, collective, memory copy or memory set.
--
-- `int_npu_activity` has those of Ascend devices; those of other devices come from the trace's own events.
--
-- @title Activities
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the activity belongs to
-- @column event_index id Position among the events of the run
-- @column activity_kind category kernel, memcpy or memset
-- @column activity_name name Name of the kernel or copy
-- @column device id Device that it ran on
-- @column stream id Stream that it ran on; NULL for a collective, whose track is not a stream
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column correlation id Correlation id, shared with the launch
-- @column external_id id External id of the operator, for activities without a launch
-- @column bytes bytes Bytes copied or set
-- @column is_npu flag Did an Ascend device run it?
-- @column is_collective flag Is it a collective of an Ascend device?
-- @column args text Arguments of the event, JSON
-- @column kernel_type name Type of a kernel, if recorded
-- @column accelerator_core category Unit that it ran on, if recorded
-- @column flow_index id Position of the start of the flow that leads to it, on an Ascend device
-- @column recorded_step id Step that the profiler assigned it to
-- @column kernel_shapes text Shapes of the kernel's own inputs, if recorded
-- @column core_ns duration_ns Time of the matrix core
-- @column matrix_ns duration_ns Time of the matrix unit
-- @column vector_ns duration_ns Time of the vector unit
-- @column wait_ns duration_ns Gap before it on the device
-- @column process_group name Group of a collective on an Ascend device
select
    run_id,
    event_index,
    activity_kind,
    activity_name,
    device,
    stream,
    start_ns,
    duration_ns,
    end_ns,
    correlation,
    external_id,
    bytes,
    false as is_npu,
    false as is_collective,
    args
from staging.stg_device_activity
union all by name
select *, case when duration_ns >= 0 then start_ns + duration_ns end as end_ns, true as is_npu
from intermediate.int_npu_activity
