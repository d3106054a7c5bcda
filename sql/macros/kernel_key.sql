-- What identifies a kernel across executions: its type on an Ascend device, where names contain numbers; else its name.
-- A collective of CANN without a type has the start of its name: hcom_allReduce_ for hcom_allReduce__538_0_1.
kernel_key(kernel_type, kernel_name) as
    coalesce(nullif(kernel_type, 'N/A'), regexp_replace(kernel_name, '^(hcom_[a-z]+_)[0-9_]+(@.*)?$', '\1', 'i'))
