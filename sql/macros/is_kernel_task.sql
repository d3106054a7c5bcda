-- Does an Ascend task of this type run a kernel? Copies, events, notifications and the like do not.
is_kernel_task(task_type) as regexp_matches(upper(task_type), '^(AI_|MIX_|KERNEL_|DSA|AIC|AIV|OTHER$)')
