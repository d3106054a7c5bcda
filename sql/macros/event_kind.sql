-- What an event is, from its category: names differ between PyTorch versions and in the case of letters.
-- Device activities are kernel, memcpy and memset; host calls are operator, annotation and runtime; anything else is NULL.
event_kind(category) as
    case lower(category)
        when 'kernel' then 'kernel'
        when 'gpu_memcpy' then 'memcpy'
        when 'memcpy' then 'memcpy'
        when 'gpu_memset' then 'memset'
        when 'memset' then 'memset'
        when 'cpu_op' then 'operator'
        when 'operator' then 'operator'
        when 'user_annotation' then 'annotation'
        when 'cuda_runtime' then 'runtime'
        when 'runtime' then 'runtime'
        when 'cuda_driver' then 'runtime'
        when 'hip_runtime' then 'runtime'
        when 'hip_driver' then 'runtime'
        when 'xpu_runtime' then 'runtime'
        when 'privateuse1_runtime' then 'runtime'
    end
