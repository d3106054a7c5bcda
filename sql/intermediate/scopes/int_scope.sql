-- Scopes of a run: one row per run for the whole run (step is NULL), one for its average step, and one per step.
--
-- @title Scopes
-- @grain run_id, step
-- @order run_id, step
-- @column run_id id Run
-- @column step id Step; −1 for the average step, NULL for the whole run
select run_id, null::bigint as step from staging.stg_run
union all by name
select distinct run_id, macros.average_step() as step from intermediate.int_averaged_step
union all by name
select run_id, step from intermediate.int_step
