-- Categories of events with a duration: one row per run and category.
--
-- `seeds.event_category` says what a category means: globs, compared in lower case; the first match wins. If none
-- matches, or an event has no category, its track decides.
--
-- @title Categories of events
-- @grain run_id, event_category
-- @order run_id, event_category
-- @materialized
-- @column run_id id Run
-- @column event_category category Category; empty for none
-- @column event_kind category Kind of its events; NULL if the category does not decide it
select run_id, event_category, min_by(rule.kind, rule.rule_order) as event_kind
from (
    select distinct run_id, coalesce(category, '') as event_category
    from raw.event
    where phase in ('X', 'B', 'E', 'b', 'S')
)
left join seeds.event_category as rule on lower(event_category) glob lower(rule.pattern)
group by run_id, event_category
