-- Problems met while reading a source: one row per run and kind.
--
-- @title Problems as recorded
-- @grain run_id, kind
-- @order run_id, kind
-- @column run_id id Run
-- @column kind category Kind of problem
-- @column problem_count count Number of occurrences
-- @column event_index id Position of the first affected event in the file
-- @column byte_offset count Offset of the first one in the text (decompressed, as UTF-8); NULL if not known
-- @column detail text Details of the first occurrence
select run_id, kind, problem_count, event_index, byte_offset, detail
from raw.problem
