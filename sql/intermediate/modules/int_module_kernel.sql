-- Kernels and copies that operators of module calls launched: one row per module call, pass, operator and step with
-- device work.
--
-- The texts of a CUDA graph's kernels may be larger than the trace, so they are not kept per run, and a comparison
-- lists those of the rows that it shows.
--
-- @title Kernels of module calls
-- @grain run_id, module_index, is_backward, operator_index, operator_name, step
-- @order run_id, module_index, is_backward, operator_index, operator_name, step
-- @column run_id id Run
-- @column module_index id Module call; NULL outside any module
-- @column is_backward flag Is it part of the backward pass of that call?
-- @column operator_index id Operator call: position in the file
-- @column operator_name name Operator
-- @column step id Step
-- @column kernels text Kernels and copies: name and nanoseconds, one per line in the order of launches
with
-- Most lists have one element, and an ordered aggregate would sort each of them at a cost.
listed as (
    select
        run_id, module_index, is_backward, operator_index, operator_name, step,
        list_sort(
            list({
                'start_ns': launch_start_ns,
                'event_index': event_index,
                'name': kernel_name,
                'duration_ns': duration_ns
            }),
            'asc',
            'nulls last'
        ) as kernels
    from intermediate.int_module_operator
    group by run_id, module_index, is_backward, operator_index, operator_name, step
)

select
    run_id,
    module_index,
    is_backward,
    operator_index,
    operator_name,
    step,
    array_to_string([format('{}: {} ns', one.name, one.duration_ns) for one in kernels], chr(10)) as kernels
from listed
