-- Modules of two runs side by side, in the order of the model: one row per pair of scopes, module and operator;
-- `[ TOTAL ]` is the module itself.
--
-- Modules pair from the outermost down. Inside two paired modules, their children pair by the longest common
-- subsequence of classes, in the order of first calls: a layer that one side lacks does not shift the others. A wrapper
-- that only one side has (`seeds.module_wrapper`) keeps its row; the modules inside it pair as if it were not there.
-- The variable `op_name_map` maps classes and operators of both sides. The backward pass pairs as the forward pass
-- does. Operators pair by name. A missing side counts as 0 in a difference. Work outside any module comes last. The
-- parent of a module is the nearest row above it with a lower level.
--
-- @title Modules
-- @sheet ModuleCompareStatistic
-- @position 45
-- @alternative modules
-- @tree own_name
-- @grain base_run_id, base_step, comparison_run_id, comparison_step, row_order
-- @order row_order
-- @rank diff_device_self_duration_ns
-- @path module_name, base_module_name, comparison_module_name
-- @long Half of it lists the columns of two sides, and a comparison has one body.
-- @column base_run_id id Base run
-- @column base_step id Its step; −1 for the average step, NULL for the whole run
-- @column comparison_run_id id Comparison run
-- @column comparison_step id Its step; −1 for the average step, NULL for the whole run
-- @column row_order id Position of the row
-- @column module_class name Class; the base's if it has the module
-- @column module_level depth Nesting depth over both sides, 1 for an outermost module; 0 outside any module
-- @column module_name name Names from the outermost module down; the base's if it has the module
-- @column operator_name name Outermost operator of the module; `[ TOTAL ]` for the module itself
-- @column base_module_name name Name, base
-- @column base_kernels text Kernels of the operator: count, name, nanoseconds, base
-- @column base_device_self_duration_ns duration_ns Device time without nested modules, base
-- @column base_device_activity_count count Device activities, base
-- @column base_device_total_duration_ns duration_ns Device time with nested modules, base
-- @column base_call_stack text Python functions around the module's first call, base
-- @column comparison_module_name name Name, comparison
-- @column comparison_kernels text Kernels of the operator: count, name, nanoseconds, comparison
-- @column comparison_device_self_duration_ns duration_ns Device time without nested modules, comparison
-- @column comparison_device_activity_count count Device activities, comparison
-- @column comparison_device_total_duration_ns duration_ns Device time with nested modules, comparison
-- @column comparison_call_stack text Python functions around the module's first call, comparison
-- @column diff_device_self_duration_ns duration_ns Device time without nested modules, comparison − base
-- @column diff_device_total_duration_ns duration_ns Device time with nested modules, comparison − base
-- @column ratio_device_total_duration_ns ratio Device time with nested modules, comparison / base
-- @column own_name name Name without its parents'; both sides' names where they differ; NULL for an operator
with
tree as not materialized (
    select run_id, step, macros.tree(place, place, parent_place, alignment_key, is_wrapper) as nodes
    from marts.module_sequence
    group by run_id, step
),

opened as (
    select pair.*, unnest(align_trees(base.nodes, comparison.nodes)) as matched
    from intermediate.int_scope_pair as pair
    left join tree as base
        on pair.base_run_id = base.run_id and macros.scope(pair.base_step) = macros.scope(base.step)
    left join tree as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and macros.scope(pair.comparison_step) = macros.scope(comparison.step)
),

pair as (
    select
        * exclude (matched),
        matched.place as alignment_order,
        matched.base as base_place,
        matched.comparison as comparison_place,
        matched.level::integer as module_level,
        unnest([false, true]) as is_backward
    from opened
),

-- Sequence and module join by scope here: if each joined the pair by itself, modules of one step could meet those of
-- every other step.
placed as not materialized (
    select
        sequence.run_id,
        sequence.step,
        sequence.place,
        module.is_backward,
        module.module_name,
        macros.own_name(module.module_name, module.parent_name) as own_name
    from marts.module_sequence as sequence
    inner join intermediate.int_module_time as module
        on
            sequence.run_id = module.run_id
            and macros.scope(sequence.step) = macros.scope(module.step)
            and sequence.forward_name = module.forward_name
),

paired as not materialized (
    select
        pair.* exclude (base_place, comparison_place),
        base.module_name as base_name,
        comparison.module_name as comparison_name,
        base.own_name as base_own_name,
        comparison.own_name as comparison_own_name
    from pair
    left join placed as base
        on
            pair.base_run_id = base.run_id
            and macros.scope(pair.base_step) = macros.scope(base.step)
            and pair.base_place = base.place
            and pair.is_backward = base.is_backward
    left join placed as comparison
        on
            pair.comparison_run_id = comparison.run_id
            and macros.scope(pair.comparison_step) = macros.scope(comparison.step)
            and pair.comparison_place = comparison.place
            and pair.is_backward = comparison.is_backward
    where base.run_id is not null or comparison.run_id is not null
),

entry as (
    select paired.*, '[ TOTAL ]' as operator_key from paired
    union
    select paired.*, macros.mapped_name(operator.operator_name) as operator_key
    from paired
    inner join marts.module_operator as operator
        on
            paired.base_run_id = operator.run_id
            and macros.scope(paired.base_step) = macros.scope(operator.step)
            and paired.base_name = operator.module_name
    union
    select paired.*, macros.mapped_name(operator.operator_name) as operator_key
    from paired
    inner join marts.module_operator as operator
        on
            paired.comparison_run_id = operator.run_id
            and macros.scope(paired.comparison_step) = macros.scope(operator.step)
            and paired.comparison_name = operator.module_name
)

select
    entry.base_run_id,
    entry.base_step,
    entry.comparison_run_id,
    entry.comparison_step,
    row_number() over (
        partition by entry.base_run_id, entry.base_step, entry.comparison_run_id, entry.comparison_step
        order by
            coalesce(base.module_level, comparison.module_level) = 0,
            entry.is_backward,
            entry.alignment_order,
            entry.operator_key <> '[ TOTAL ]',
            entry.operator_key
    ) as row_order,
    coalesce(base.module_class, comparison.module_class) as module_class,
    case when coalesce(base.module_level, comparison.module_level) = 0 then 0 else entry.module_level end
        as module_level,
    coalesce(nullif(coalesce(entry.base_name, entry.comparison_name), ''), '(outside any module)') as module_name,
    entry.operator_key as operator_name,
    entry.base_name as base_module_name,
    base.kernels as base_kernels,
    base.device_self_duration_ns as base_device_self_duration_ns,
    base.device_activity_count as base_device_activity_count,
    base.device_total_duration_ns as base_device_total_duration_ns,
    base.call_stack as base_call_stack,
    entry.comparison_name as comparison_module_name,
    comparison.kernels as comparison_kernels,
    comparison.device_self_duration_ns as comparison_device_self_duration_ns,
    comparison.device_activity_count as comparison_device_activity_count,
    comparison.device_total_duration_ns as comparison_device_total_duration_ns,
    comparison.call_stack as comparison_call_stack,
    macros.or_nothing(comparison.run_id, comparison.device_self_duration_ns)
    - macros.or_nothing(base.run_id, base.device_self_duration_ns) as diff_device_self_duration_ns,
    macros.or_nothing(comparison.run_id, comparison.device_total_duration_ns)
    - macros.or_nothing(base.run_id, base.device_total_duration_ns) as diff_device_total_duration_ns,
    macros.ratio(base.device_total_duration_ns, comparison.device_total_duration_ns) as ratio_device_total_duration_ns,
    case
        when entry.operator_key <> '[ TOTAL ]' then null
        when
            entry.base_own_name <> entry.comparison_own_name
            then entry.base_own_name || ' → ' || entry.comparison_own_name
        else coalesce(entry.base_own_name, entry.comparison_own_name)
    end as own_name
from entry
left join marts.module_entry as base
    on
        entry.base_run_id = base.run_id
        and macros.scope(entry.base_step) = macros.scope(base.step)
        and entry.base_name = base.module_name
        and entry.operator_key = base.operator_key
left join marts.module_entry as comparison
    on
        entry.comparison_run_id = comparison.run_id
        and macros.scope(entry.comparison_step) = macros.scope(comparison.step)
        and entry.comparison_name = comparison.module_name
        and entry.operator_key = comparison.operator_key
