-- What modules of a class are paired by: one row per run and class of module.
--
-- Patterns are rows of `seeds.module_wrapper`, the first that a class matches wins: what matches is taken off, so that a module pairs
-- with the same module that is wrapped in place. A class of which nothing is left is a wrapper: a module around another that a run
-- has or has not, without being another model. It pairs by its whole name; where it has no partner, what it wraps is paired in its place.
--
-- @title Classes of modules
-- @grain run_id, module_class
-- @order run_id, module_class
-- @column run_id id Run
-- @column module_class name Class
-- @column paired_class name Name that it is paired by, before `op_name_map`
-- @column is_wrapper flag Is it a wrapper around another module?
with
matched as (
    select
        class.run_id,
        class.module_class,
        min_by(regexp_replace(class.module_class, wrapper.pattern, ''), wrapper.rule_order) as wrapped_class
    from (select distinct run_id, module_class from intermediate.int_module_call where not is_optimizer) as class
    left join seeds.module_wrapper as wrapper on regexp_matches(class.module_class, wrapper.pattern)
    group by class.run_id, class.module_class
)

select
    run_id,
    module_class,
    coalesce(nullif(wrapped_class, ''), module_class) as paired_class,
    coalesce(wrapped_class = '', false) as is_wrapper
from matched
