-- Python functions around the first calls of modules: one row per run and module.
--
-- @title Call stacks of modules
-- @grain run_id, first_index
-- @order run_id, first_index
-- @column run_id id Run
-- @column first_index id First call of a module, its place in the file
-- @column call_stack text Functions around that call, outermost first, a line each
with recursive
named as materialized (
    select run_id, event_index, python_id, python_parent_id, function_name
    from intermediate.int_python_function
    where run_id in (select run_id from intermediate.int_module_path)
),

-- Stacks are made of numbers, and the numbers replaced by names at the end: a name occurs in most of them.
frame as materialized (
    select function_name, row_number() over () as frame
    from (select distinct function_name from named)
),

function as materialized (
    select named.run_id, named.event_index, named.python_id, named.python_parent_id, frame.frame
    from named
    inner join frame on named.function_name = frame.function_name
),

caller as (
    select path.run_id, path.first_index, function.python_parent_id, function.frame, 0 as distance
    from intermediate.int_module_path as path
    inner join function
        on path.run_id = function.run_id and path.first_index = function.event_index
    union all
    select caller.run_id, caller.first_index, function.python_parent_id, function.frame, caller.distance + 1
    from caller
    inner join function
        on caller.run_id = function.run_id and caller.python_parent_id = function.python_id
    where caller.distance < 200
)

select
    numbered.run_id,
    numbered.first_index,
    array_to_string(list_select(names.function_names, numbered.frames), chr(10)) as call_stack
from (
    select run_id, first_index, list(frame order by distance desc) as frames
    from caller
    group by run_id, first_index
) as numbered
cross join (select list(function_name order by frame) as function_names from frame) as names
