-- Nodes of two trees paired: one row per tree, pair of scopes and pair of nodes; a node that one side lacks is a row,
-- too.
--
-- Nodes pair from the roots down: the children of two paired nodes pair by the longest common subsequence of their
-- keys. Node numbers are those of the tree.
--
-- @title Paired nodes
-- @grain tree, base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @order tree, base_run_id, base_step, comparison_run_id, comparison_step, alignment_order
-- @column tree category `operator` (operator calls) or `module call` (module calls with their operators)
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column alignment_order id Position of the pair, children after their parents
-- @column base_node id Node of the base; NULL if it has none
-- @column comparison_node id Node of the comparison; NULL if it has none
-- @column base_parent_node id Base node of the pair around this one
-- @column comparison_parent_node id Comparison node of the pair around this one
-- @column node_level depth Nesting depth over both sides, 1 for a root
with
node as not materialized (
    select
        'operator' as tree,
        run_id,
        step,
        place,
        event_index as node,
        parent_operator_index as parent_node,
        alignment_key,
        false as is_wrapper
    from intermediate.int_operator_sequence
    union all by name
    select 'module call' as tree, run_id, step, node as place, node, parent_node, alignment_key, is_wrapper
    from intermediate.int_module_node_sequence
),

tree as not materialized (
    select tree, run_id, step, macros.tree(place, node, parent_node, alignment_key, is_wrapper) as nodes
    from node
    group by tree, run_id, step
),

pair as (
    select kind.tree, pair.*
    from (values ('operator'), ('module call')) as kind (tree)
    cross join intermediate.int_scope_pair as pair
),

opened as (
    select pair.*, unnest(align_trees(base.nodes, comparison.nodes)) as matched
    from pair
    left join tree as base
        on
            pair.tree = base.tree
            and pair.base_run_id = base.run_id
            and macros.scope(pair.base_step) = macros.scope(base.step)
    left join tree as comparison
        on
            pair.tree = comparison.tree
            and pair.comparison_run_id = comparison.run_id
            and macros.scope(pair.comparison_step) = macros.scope(comparison.step)
)

select
    tree,
    base_run_id,
    base_step,
    comparison_run_id,
    comparison_step,
    matched.place as alignment_order,
    matched.base as base_node,
    matched.comparison as comparison_node,
    matched.base_parent as base_parent_node,
    matched.comparison_parent as comparison_parent_node,
    matched.level::integer as node_level
from opened
