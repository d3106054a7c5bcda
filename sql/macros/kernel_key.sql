-- What names a kernel across executions: its type on an Ascend device, where names are numbered; else its name.
kernel_key(kernel_type, kernel_name) as coalesce(nullif(kernel_type, 'N/A'), kernel_name)
