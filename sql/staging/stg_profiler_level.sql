-- Levels of Ascend profilers: one row per run that records one.
--
-- @title Profiler levels
-- @grain run_id
-- @order run_id
-- @column run_id id Run
-- @column profiler_level category Level_none, Level0, Level1 or Level2
select run_id, any_value(profiler_level) as profiler_level
from (
    select
        run_id,
        coalesce(value ->> '$.experimental_config._profiler_level', value ->> '$.profiler_level') as profiler_level
    from raw.trace_metadata
    where key in ('config', 'profiler_parameters') and json_valid(value)
)
where profiler_level is not null
group by run_id
