-- Does a call of this name launch a kernel (`cudaLaunchKernel`, `hipGraphLaunch`, `zeCommandListImmediateAppendKernel`,
-- `clEnqueueNDRangeKernel`)?
is_launch_name(name) as
    regexp_matches(name, 'launch|append_?kernel|enqueue\w*kernel', 'i') and not regexp_matches(name, 'hostfunc', 'i')
