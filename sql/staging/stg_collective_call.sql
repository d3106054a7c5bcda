-- Host calls around the launches of collectives: one row per record_param_comms, and per annotation that a backend makes (nccl:all_reduce).
--
-- Newer versions of PyTorch describe the collective in the arguments of record_param_comms; older ones have there only the shapes and
-- types of its inputs, of which the first is the message.
--
-- @title Calls of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Place of the call in the file
-- @column call_name name Name of the call
-- @column annotated_name name Collective that an annotation names; NULL for record_param_comms
-- @column pid id Process
-- @column tid id Thread
-- @column start_ns timestamp_ns Start
-- @column end_ns timestamp_ns End
-- @column input_type category Type of the first input
-- @column input_elements count Elements of the first input
-- @column args text Arguments that describe the collective, JSON
select
    run_id,
    event_index,
    name as call_name,
    null::varchar as annotated_name,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns,
    start_ns + duration_ns as end_ns,
    lower(input_types ->> '$[0]') as input_type,
    -- Dimensions are small, but not in every file: a product that no integer holds is not known.
    try_cast(list_product(nullif(try_cast(input_shapes ->> '$[0]' as bigint[]), [])) as bigint) as input_elements,
    args
from raw.event
where name = 'record_param_comms' and phase = 'X' and start_ns is not null and duration_ns >= 0
union all
select
    run_id,
    event_index,
    name as call_name,
    macros.collective_annotation(name) as annotated_name,
    coalesce(pid, '') as pid,
    coalesce(tid, '') as tid,
    start_ns,
    start_ns + duration_ns as end_ns,
    null as input_type,
    null as input_elements,
    null as args
from raw.event
where
    phase = 'X'
    and macros.event_kind(category) = 'annotation'
    and macros.collective_annotation(name) <> ''
    and start_ns is not null
    and duration_ns >= 0
