-- Number that a text is or ends with: 7 for `7` and `Stream 7`, 1 for `dev-1`; NULL if it has none.
last_number(text) as try_cast(regexp_extract(text, '(^-?[0-9]+|[0-9]+)\s*$', 1) as bigint)
