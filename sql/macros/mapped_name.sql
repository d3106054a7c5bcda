-- The name that an operator or module is matched by: the one that the variable `op_name_map` (a JSON object) has for it, else its own.
mapped_name(name) as
    coalesce(cast(cast(getvariable('op_name_map') as json) as map(varchar, varchar))[name], name)
