-- Unit of an Ascend device that a kernel ran on: Cube where the matrix unit worked, Vector where it did not or where the core has
-- none; empty where neither is recorded. AI_CORE alone tells nothing: older devices use the name for both.
measured_unit(accelerator_core, matrix_ns) as
    case
        when matrix_ns > 0 then 'Cube'
        when upper(accelerator_core) in ('AI_VECTOR_CORE', 'MIX_AIV') or matrix_ns = 0 then 'Vector'
        when upper(accelerator_core) = 'MIX_AIC' then 'Cube'
        else ''
    end
