-- Unit of an Ascend device that a kernel ran on: Cube if the matrix unit worked, Vector if it did not or the core has
-- none; empty if neither is recorded. AI_CORE alone does not decide it: older devices use that name for both.
measured_unit(accelerator_core, matrix_ns) as
    case
        when matrix_ns > 0 then 'Cube'
        when upper(accelerator_core) in ('AI_VECTOR_CORE', 'MIX_AIV') or matrix_ns = 0 then 'Vector'
        when upper(accelerator_core) = 'MIX_AIC' then 'Cube'
        else ''
    end
