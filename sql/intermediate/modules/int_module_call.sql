-- Calls of nn.Modules, and of the optimizer: one row per call.
--
-- The path joins the names of the module calls around it. A call named `Optimizer.…` that is in no other is taken as a
-- module of its own, whose path is its name.
--
-- @title Module calls
-- @grain run_id, event_index
-- @order run_id, event_index
-- @materialized
-- @column run_id id Run that the call belongs to
-- @column event_index id Place of the call in the file
-- @column module_path name Names from the outermost module down: /Net_0/Linear_3
-- @column parent_path name Path of the module around it, NULL for an outermost one
-- @column module_class name Class of the module
-- @column module_level depth Modules around it, itself counted
-- @column is_optimizer flag Is it a call of the optimizer?
-- @column parent_module_index id Module call around it
-- @column step id Step that it started in
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
with recursive
module as (
    select span.*, function.module_name
    from intermediate.int_module_span as span
    inner join staging.stg_python_function as function
        on span.run_id = function.run_id and span.event_index = function.event_index
    where function.module_name is not null
),

placed as (
    select *, '/' || module_name as module_path, null::varchar as parent_path, 1 as module_level
    from module
    where parent_module_index is null
    union all
    select
        module.*,
        parent.module_path || '/' || module.module_name as module_path,
        parent.module_path as parent_path,
        parent.module_level + 1 as module_level
    from placed as parent
    inner join module
        on parent.run_id = module.run_id and parent.event_index = module.parent_module_index
),

optimizer as (
    select run_id, event_index, call_name, pid, tid, start_ns, end_ns, step
    from intermediate.int_host_call
    where starts_with(call_name, 'Optimizer.') and call_kind in ('annotation', 'operator')
    qualify start_ns >= coalesce(
        max(end_ns) over (
            partition by run_id, pid, tid
            order by start_ns, end_ns desc, event_index
            rows between unbounded preceding and 1 preceding
        ),
        start_ns
    )
),

marker as (
    select run_id, step, start_ns, end_ns
    from intermediate.int_step
    where start_ns is not null
)

select
    placed.run_id,
    placed.event_index,
    placed.module_path,
    placed.parent_path,
    regexp_replace(placed.module_name, '_[0-9]+$', '') as module_class,
    placed.module_level,
    false as is_optimizer,
    placed.parent_module_index,
    case when placed.start_ns < marker.end_ns then marker.step end as step,
    placed.pid,
    placed.tid,
    placed.start_ns,
    placed.end_ns
from placed
asof left join marker
    on placed.run_id = marker.run_id and placed.start_ns >= marker.start_ns
union all by name
select
    run_id,
    event_index,
    call_name as module_path,
    null as parent_path,
    call_name as module_class,
    1 as module_level,
    true as is_optimizer,
    null as parent_module_index,
    step,
    pid,
    tid,
    start_ns,
    end_ns
from optimizer
