-- Name by which an operator or module is matched: its entry in the variable `op_name_map` (a JSON object), else its own
-- name.
mapped_name(name) as
    coalesce(cast(cast(getvariable('op_name_map') as json) as map(varchar, varchar))[name], name)
