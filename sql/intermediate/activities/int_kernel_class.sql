-- Classes of kernels by name: one row per run, kernel, its type and unit where they are recorded, and launching operator.
--
-- Patterns are rows of `seeds.kernel_class` (globs, compared in lower case), the first that matches wins. Those of the subject
-- `kernel` are held against the whole name, `symbol` and `auxiliary` against the name without template arguments and parameters; of neither
-- with the scope of the network that MindSpore writes before it. Communication
-- (also in one with computing) and copies are told by the kernel's name alone; else the operator decides the class and the kernel the unit, but
-- for a matrix product or convolution inside an operator of attention, which is what it is called; kernels
-- without an operator (graph replays, device-only traces) are told by their name. On Ascend devices the type stands for the name,
-- and the unit is the measured one: Cube where the matrix unit worked, else Vector; a kernel that no rule knows has the class of its unit.
--
-- @title Kernel classes
-- @grain run_id, kernel_name, measured_unit, operator_name
-- @order run_id, kernel_name, measured_unit, operator_name
-- @column run_id id Run
-- @column kernel_name name Name of the kernel, or its type
-- @column measured_unit category Cube or Vector, as recorded; empty where it is not
-- @column operator_name name Name of the launching operator, empty where there is none
-- @column kernel_class category Class
-- @column kernel_unit category Cube (matrix unit) or Vector; for the class Vector, Trans (layout change) or No Trans
-- @column class_rule text Rule that decided the class
-- @column is_auxiliary flag Is it launched for a collective without communicating?
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

kernel_rule as (
    select name.kernel_name, min_by(candidate, candidate.rule_order) as matched
    from (
        select
            kernel_name,
            lower(macros.unscoped_name(kernel_name)) as whole_name,
            lower(macros.unscoped_name(macros.kernel_symbol(kernel_name))) as symbol
        from (select distinct kernel_name from pair)
    ) as name
    inner join seeds.kernel_class as candidate
        on
            candidate.subject <> 'operator'
            and case when candidate.subject = 'kernel' then name.whole_name else name.symbol end glob lower(candidate.pattern)
    group by name.kernel_name
),

operator_rule as (
    select name.operator_name, min_by(candidate, candidate.rule_order) as matched
    from (select distinct operator_name from pair) as name
    inner join seeds.kernel_class as candidate
        on candidate.subject = 'operator' and lower(macros.unscoped_name(name.operator_name)) glob lower(candidate.pattern)
    group by name.operator_name
),

decided as (
    select
        pair.*,
        kernel_rule.matched as by_kernel,
        case
            when kernel_rule.matched.class in ('Communication', 'Copy', 'Fused Compute and Communication') then kernel_rule.matched
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
    coalesce(decisive.rule, case when measured_unit <> '' then 'no rule; the unit that it ran on' end, 'no rule') as class_rule,
    coalesce(decisive.subject = 'auxiliary', false) as is_auxiliary
from decided
