-- Does a task of an Ascend device run a kernel, by its type? Copies, events, notifications and the like do not.
is_kernel_task(task_type) as regexp_matches(upper(task_type), '^(AI_|MIX_|KERNEL_|DSA|AIC|AIV|OTHER$)')
