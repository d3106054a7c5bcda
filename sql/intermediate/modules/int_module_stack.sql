-- Python functions around the first calls of modules: one row per run and module.
--
-- @title Call stacks of modules
-- @grain run_id, first_index
-- @order run_id, first_index
-- @materialized
-- @column run_id id Run
-- @column first_index id First call of a module: position in the file
-- @column call_stack text Functions around that call, outermost first, one per line
with
caller as (
    select
        run_id,
        event_index as first_index,
        unnest(string_split(caller_indexes, ','))::bigint as event_index,
        generate_subscripts(string_split(caller_indexes, ','), 1) as place
    from intermediate.int_call_walk
    where caller_indexes is not null
)

select
    caller.run_id, caller.first_index, string_agg(function.function_name, chr(10) order by caller.place) as call_stack
from caller
inner join staging.stg_python_function as function
    on caller.run_id = function.run_id and caller.event_index = function.event_index
group by caller.run_id, caller.first_index
