-- Numbers of runs: one row per run. A number is narrower than an id, for sorts and joins.
--
-- @title Numbers of runs
-- @grain run_id
-- @order run_id
-- @column run_id id Run
-- @column run_number id Its number among the runs of the warehouse
select run_id, dense_rank() over (order by run_id)::integer as run_number
from staging.stg_run
