-- Operator calls of two runs paired: one row per pair of scopes and pair of calls, or call that the other side lacks.
--
-- @title Paired operators
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @order base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column alignment_order id Place of the pair, operators below those around them
-- @column base_place id Place of the operator among the base's, NULL where it lacks it
-- @column comparison_place id Place of the operator among the comparison's, NULL where it lacks it
-- @column base_parent_place id Place of the base's operator in the pair around this one
-- @column comparison_parent_place id Place of the comparison's operator in the pair around this one
with
base_tree as (
    select run_id, step, list(parent_place order by place) as parents, list(alignment_key order by place) as keys
    from intermediate.int_operator_sequence
    group by run_id, step
),

comparison_tree as (
    select run_id, step, list(parent_place order by place) as parents, list(alignment_key order by place) as keys
    from intermediate.int_operator_sequence
    group by run_id, step
),

aligned as (
    select
        pair.*,
        align_trees(
            coalesce(base.parents, []), coalesce(base.keys, []), [],
            coalesce(comparison.parents, []), coalesce(comparison.keys, []), []
        ) as matched
    from intermediate.int_scope_pair as pair
    left join base_tree as base
        on pair.base_run_id = base.run_id and pair.base_step is not distinct from base.step
    left join comparison_tree as comparison
        on pair.comparison_run_id = comparison.run_id and pair.comparison_step is not distinct from comparison.step
    where base.run_id is not null or comparison.run_id is not null
),

opened as (
    select * exclude (matched), unnest(matched) as matched, unnest(range(1, len(matched) + 1)) as alignment_order
    from aligned
)

select
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    alignment_order,
    matched.base as base_place,
    matched.comparison as comparison_place,
    matched.base_parent as base_parent_place,
    matched.comparison_parent as comparison_parent_place
from opened
