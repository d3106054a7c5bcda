-- Scopes of a run: one row per run for the whole of it (step is NULL), and one row per step.
--
-- @title Scopes
-- @grain run_id, step
-- @order run_id, step
-- @column run_id id Run
-- @column step id Step; NULL for the whole run
select run_id, null::bigint as step from staging.stg_run
union all
select run_id, step from intermediate.int_step
