-- Numbers for runs: one row per run. A number is narrower to sort and to join by than an id.
--
-- @title Numbers of runs
-- @grain run_id
-- @order run_id
-- @column run_id id Run
-- @column run_number id Its number among the runs there are
select run_id, dense_rank() over (order by run_id)::integer as run_number
from staging.stg_run
