-- The name that an operator or module is matched by: the one that the variable `op_name_map` has for it, else its own.
mapped_name(name) as
    coalesce(cast(getvariable('op_name_map') as map(varchar, varchar))[name], name)
