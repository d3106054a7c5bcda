-- Process groups of the job according to the profiler's metadata: one row per run and key of a group.
--
-- @title Process groups
-- @grain run_id, process_group
-- @order run_id, process_group
-- @column run_id id Run
-- @column process_group name Key of the group
-- @column group_name name Name in the job (dp, tp, pp, …)
-- @column group_size count Ranks in it
select
    run_id,
    key as process_group,
    any_value(coalesce(nullif(json_value ->> '$.group_name', ''), key)) as group_name,
    any_value(json_array_length(json_value, '$.global_ranks')::bigint) as group_size
from (
    select run_id, unnest(json_keys(value)) as key, unnest(json_extract(value, '$.*')) as json_value
    from raw.trace_metadata
    where trace_metadata.key = 'parallel_group_info' and json_valid(value) and json_type(value) = 'OBJECT'
)
group by run_id, key
