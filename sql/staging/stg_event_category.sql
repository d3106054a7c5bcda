-- Categories of events that last: one row per run and category.
--
-- What a category means is a row of `seeds.event_category` (globs, in lower case), the first that matches. Where none does, as where events
-- have no category, their track tells.
--
-- @title Categories of events
-- @grain run_id, event_category
-- @order run_id, event_category
-- @materialized
-- @column run_id id Run
-- @column event_category category Category; empty for none
-- @column event_kind category What its events are; NULL where the category does not tell
select run_id, event_category, min_by(rule.kind, rule.rule_order) as event_kind
from (
    select distinct run_id, coalesce(category, '') as event_category
    from raw.event
    where phase in ('X', 'B', 'E', 'b', 'S')
)
left join seeds.event_category as rule on lower(event_category) glob lower(rule.pattern)
group by run_id, event_category
