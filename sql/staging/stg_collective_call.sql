-- Host calls around the launches of collectives: one row per record_param_comms, and per annotation of a backend
-- (nccl:all_reduce).
--
-- Newer versions of PyTorch describe the collective in the arguments of record_param_comms. Older ones record only the
-- shapes and types of its inputs; the first input is the message.
--
-- @title Calls of collectives
-- @grain run_id, event_index
-- @order run_id, event_index
-- @column run_id id Run
-- @column event_index id Position of the call in the file
-- @column call_name name Name of the call
-- @column annotated_name name Collective that the annotation names; NULL for record_param_comms
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
    event_name as call_name,
    case when event_name <> 'record_param_comms' then macros.collective_annotation(event_name) end as annotated_name,
    pid,
    tid,
    start_ns,
    start_ns + duration_ns as end_ns,
    case when event_name = 'record_param_comms' then lower(input_types ->> '$[0]') end as input_type,
    -- A file may hold absurd dimensions: a product that overflows is not known.
    case
        when event_name = 'record_param_comms'
            then try_cast(list_product(nullif(try_cast(input_shapes ->> '$[0]' as bigint[]), [])) as bigint)
    end as input_elements,
    case when event_name = 'record_param_comms' then args end as args
from staging.stg_event
where
    (
        event_kind in ('operator', 'annotation') and event_name = 'record_param_comms'
        or event_kind = 'annotation' and macros.collective_annotation(event_name) <> ''
    )
    and start_ns is not null
    and duration_ns >= 0
