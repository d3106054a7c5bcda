-- Statistics that the profiler itself wrote, as recorded: one row per row of such a table.
--
-- @title Sums as recorded
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the row in the run
-- @column source category op_statistic, api_statistic, communication_statistic, operator_details, step_trace or step_trace_time
-- @column step id Step
-- @column name name Name of the kernel, call or metric
-- @column category category Core of a kernel, or level of a call
-- @column call_count count Calls
-- @column total_ns duration_ns Sum of durations
-- @column average_ns duration_ns Average duration
-- @column min_ns duration_ns Shortest
-- @column max_ns duration_ns Longest
select run_id, event_index, source, step, name, category, call_count, total_ns, average_ns, min_ns, max_ns
from raw.statistic
