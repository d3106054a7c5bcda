-- Classes of kernels by name: one row per run, kernel name or type, measured unit, and launching operator.
--
-- Patterns are rows of `seeds.kernel_class`: globs, compared in lower case; the first match wins. Patterns of the
-- subject `kernel` match the whole name. Those of `symbol` and `auxiliary` match the name without template arguments
-- and parameters. The network scope that MindSpore puts before a name is ignored.
--
-- The kernel's name alone identifies communication (also combined with computing), copies and auxiliary kernels.
-- Otherwise the operator decides the class, and the kernel the unit; but a matrix product or convolution inside an
-- attention operator keeps its own class. Kernels without an operator (graph replays, device-only traces) are
-- classified by name. On Ascend devices the type takes the place of the name, and the unit is measured: Cube if the
-- matrix unit worked, else Vector. There, a kernel that no rule matches has the class of its unit.
--
-- @title Kernel classes
-- @grain run_id, kernel_name, measured_unit, operator_name
-- @order run_id, kernel_name, measured_unit, operator_name
-- @column run_id id Run
-- @column kernel_name name Name of the kernel, or its type
-- @column measured_unit category Cube or Vector, as recorded; empty if not recorded
-- @column operator_name name Name of the launching operator; empty without one
-- @column kernel_class category Class
-- @column kernel_unit category Cube (matrix unit) or Vector; for the class Vector, Trans (layout change) or No Trans
-- @column class_rule text Rule that decided the class
-- @column is_auxiliary flag Was it launched for a collective, without communicating?
with
pair as (
    select distinct
        activity.run_id,
        macros.kernel_key(activity.kernel_type, activity.activity_name) as kernel_name,
        macros.measured_unit(activity.accelerator_core, activity.matrix_ns) as measured_unit,
        coalesce(launch.operator_name, '') as operator_name
    from intermediate.int_activity as activity
    inner join intermediate.int_activity_launch as launch
        on activity.run_id = launch.run_id and activity.event_index = launch.event_index
    where activity.activity_kind = 'kernel'
),

-- Most patterns look for a text anywhere in the name; finding that takes a tenth of the time of a glob.
candidate as (
    select
        *,
        lower(pattern) as glob_pattern,
        case when regexp_full_match(pattern, '\*[^*?\[\\]+\*') then lower(trim(pattern, '*')) end as literal
    from seeds.kernel_class
),

kernel_rule as (
    select name.kernel_name, min_by(candidate, candidate.rule_order) as matched
    from (
        select
            kernel_name,
            lower(macros.unscoped_name(kernel_name)) as whole_name,
            lower(macros.unscoped_name(macros.kernel_symbol(kernel_name))) as symbol
        from (select distinct kernel_name from pair)
    ) as name
    inner join candidate
        on
            candidate.subject <> 'operator'
            and case
                when candidate.literal is not null and candidate.subject = 'kernel'
                    then contains(name.whole_name, candidate.literal)
                when candidate.literal is not null then contains(name.symbol, candidate.literal)
                when candidate.subject = 'kernel' then name.whole_name glob candidate.glob_pattern
                else name.symbol glob candidate.glob_pattern
            end
    group by name.kernel_name
),

operator_rule as (
    select name.operator_name, min_by(candidate, candidate.rule_order) as matched
    from (
        select operator_name, lower(macros.unscoped_name(operator_name)) as whole_name
        from (select distinct operator_name from pair)
    ) as name
    inner join candidate
        on
            candidate.subject = 'operator'
            and case
                when candidate.literal is null then name.whole_name glob candidate.glob_pattern
                else contains(name.whole_name, candidate.literal)
            end
    group by name.operator_name
),

decided as (
    select
        pair.*,
        kernel_rule.matched as by_kernel,
        case
            when
                kernel_rule.matched.class in ('Communication', 'Copy', 'Fused Compute and Communication')
                then kernel_rule.matched
            when kernel_rule.matched.subject = 'auxiliary' then kernel_rule.matched
            when operator_rule.matched.class like '%Attention' and kernel_rule.matched.class in ('Matmul', 'Conv')
                then kernel_rule.matched
            else coalesce(operator_rule.matched, kernel_rule.matched)
        end as decisive
    from pair
    left join kernel_rule on pair.kernel_name = kernel_rule.kernel_name
    left join operator_rule on pair.operator_name = operator_rule.operator_name
)

select
    run_id,
    kernel_name,
    measured_unit,
    operator_name,
    coalesce(decisive.class, nullif(measured_unit, ''), 'Other') as kernel_class,
    case
        when decisive.class = 'Vector' then decisive.unit
        when decisive.class in ('Flash Attention', 'Conv', 'Matmul')
            then case
                when measured_unit <> '' then measured_unit
                when by_kernel.unit = 'Cube' then 'Cube'
                else 'Vector'
            end
        when decisive is null and measured_unit = 'Vector' then 'No Trans'
    end as kernel_unit,
    coalesce(decisive.rule, case when measured_unit <> '' then 'no rule; the unit that it ran on' end, 'no rule')
        as class_rule,
    coalesce(decisive.subject = 'auxiliary', false) as is_auxiliary
from decided
