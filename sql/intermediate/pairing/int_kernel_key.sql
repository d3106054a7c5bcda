-- Keys that identify kernels across executions: one row per run, kernel and its type.
--
-- The key is `macros.kernel_key` without the parts that each build or compilation of the same code numbers anew:
-- lambdas, Inductor's kernels, hashes, addresses. Patterns are rows of `seeds.kernel_numbering` (regular expressions),
-- applied in order. A `*` replaces a number. Data types, template arguments and tile sizes stay.
--
-- @title Keys of kernels
-- @grain run_id, kernel_name, kernel_type
-- @order run_id, kernel_name, kernel_type
-- @column run_id id Run
-- @column kernel_name name Name of the kernel, as recorded
-- @column kernel_type name Its type, if the profiler records one
-- @column kernel_key name Name without such numbers, or the type
with
name as (
    select distinct run_id, activity_name as kernel_name, kernel_type, macros.kernel_key(kernel_type, activity_name) as stem
    from intermediate.int_activity
    where activity_kind = 'kernel'
),

numbering as (
    select list({'name': '', 'pattern': pattern, 'replacement': replacement} order by rule_order) as rules
    from seeds.kernel_numbering
),

keyed as (
    select
        stem,
        list_reduce(
            list_prepend({'name': stem, 'pattern': '', 'replacement': ''}, numbering.rules),
            -- Most patterns match no part of a name, and to look for a match is far cheaper than to replace it.
            lambda done, rule: {
                'name': case
                    when regexp_matches(done.name, rule.pattern)
                        then regexp_replace(done.name, rule.pattern, rule.replacement, 'g')
                    else done.name
                end,
                'pattern': '',
                'replacement': ''
            }
        ).name as kernel_key
    from (select distinct stem from name)
    cross join numbering
)

select name.run_id, name.kernel_name, name.kernel_type, keyed.kernel_key
from name
left join keyed on name.stem = keyed.stem
