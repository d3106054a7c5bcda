-- Tasks of an Ascend device as CANN describes them: one row per task, including collectives.
--
-- The accelerator core identifies communication (HCCL, since CANN 8.3 COMMUNICATION). MindSpore writes the launching
-- operator before the name of a kernel; it is removed. In a table of all tasks (task_time), which has no types, the
-- core identifies kernels.
--
-- @title Kernel details as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run that the task belongs to
-- @column event_index id Position of the row in the run
-- @column step id Step that the profiler assigned it to
-- @column device id Device
-- @column stream id Stream
-- @column kernel_name name Name
-- @column kernel_type name Type of the operator that CANN ran; NULL if not recorded, N/A in databases of Level0
-- @column accelerator_core category Unit that it ran on
-- @column is_communication flag Is it a collective?
-- @column start_ns timestamp_ns Start
-- @column duration_ns duration_ns Duration
-- @column end_ns timestamp_ns End
-- @column wait_ns duration_ns Gap before it on the device
-- @column block_count count Blocks that it was split into
-- @column input_shapes text Shapes of its inputs
-- @column core_ns duration_ns Time of the matrix core
-- @column matrix_ns duration_ns Time of the matrix unit within that
-- @column vector_ns duration_ns Time of the vector unit
select
    run_id,
    event_index,
    step,
    device,
    stream,
    regexp_replace(coalesce(kernel_name, ''), '^\w+::\w+::.*/', '') as kernel_name,
    kernel_type,
    accelerator_core,
    coalesce(upper(accelerator_core) in ('HCCL', 'COMMUNICATION'), false) as is_communication,
    start_ns,
    duration_ns,
    case when duration_ns >= 0 then start_ns + duration_ns end as end_ns,
    wait_ns,
    block_count,
    input_shapes,
    core_ns,
    matrix_ns,
    vector_ns
from raw.kernel_detail
where
    kernel_type is not null
    or accelerator_core is null
    or macros.is_kernel_task(accelerator_core)
    or upper(accelerator_core) in ('HCCL', 'COMMUNICATION')
