-- Module calls and their operators of two runs paired: one row per pair of scopes and pair of nodes, or node that the other side lacks.
--
-- @title Paired module calls
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @order base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @column base_run_id id Run compared with
-- @column base_step id Its step; NULL for the whole run
-- @column comparison_run_id id Run compared
-- @column comparison_step id Its step; NULL for the whole run
-- @column alignment_order id Place of the pair, operators and modules below the module around them
-- @column base_place id Place of the node among the base's, NULL where it lacks it
-- @column comparison_place id Place of the node among the comparison's, NULL where it lacks it
-- @column node_level depth Nodes around it on either side, itself counted
with
base_tree as (
    select
        run_id,
        step,
        list(parent_place order by place) as parents,
        list(alignment_key order by place) as keys,
        coalesce(list(place order by place) filter (where is_wrapper), []) as wrappers
    from intermediate.int_module_node_sequence
    group by run_id, step
),

comparison_tree as (
    select
        run_id,
        step,
        list(parent_place order by place) as parents,
        list(alignment_key order by place) as keys,
        coalesce(list(place order by place) filter (where is_wrapper), []) as wrappers
    from intermediate.int_module_node_sequence
    group by run_id, step
),

aligned as (
    select
        pair.*,
        align_trees(
            coalesce(base.parents, []), coalesce(base.keys, []), coalesce(base.wrappers, []),
            coalesce(comparison.parents, []), coalesce(comparison.keys, []), coalesce(comparison.wrappers, [])
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
    matched.level::integer as node_level
from opened
