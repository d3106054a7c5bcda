-- Names by which modules of a class pair: one row per run and class of module.
--
-- Patterns are rows of `seeds.module_wrapper`; the first that matches a class wins. The matched part of the name is
-- removed, so a module pairs with the same module wrapped in place. A class whose whole name is removed is a wrapper:
-- with or without it, the model is the same. A wrapper pairs by its whole name. Without a partner, the modules inside
-- it pair in its place.
--
-- @title Classes of modules
-- @grain run_id, module_class
-- @order run_id, module_class
-- @column run_id id Run
-- @column module_class name Class
-- @column paired_class name Name that it pairs by, before `op_name_map`
-- @column is_wrapper flag Is it a wrapper around another module?
with
matched as (
    select
        class.run_id,
        class.module_class,
        min_by(regexp_replace(class.module_class, wrapper.pattern, ''), wrapper.rule_order) as wrapped_class
    from (select distinct run_id, module_class from intermediate.int_module where not is_optimizer) as class
    left join seeds.module_wrapper as wrapper on regexp_matches(class.module_class, wrapper.pattern)
    group by class.run_id, class.module_class
)

select
    run_id,
    module_class,
    coalesce(nullif(wrapped_class, ''), module_class) as paired_class,
    coalesce(wrapped_class = '', false) as is_wrapper
from matched
