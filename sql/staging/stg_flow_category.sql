-- Flow categories that a user named at ingestion: one row per run with one.
--
-- @title Named categories of flows
-- @grain run_id
-- @order run_id
-- @column run_id id Run
-- @column flow_category category Category, in lower case
select run_id, lower(any_value(value)) as flow_category
from raw.trace_metadata
where key = 'tracemill.flow_category'
group by run_id
