-- Name of a kernel without its template arguments and parameters, namespaces kept: `void a::f` for `void a::f<int>(float*)`. What
-- compilers write for a namespace without a name, and for a type that the arguments decide, is left out, since it looks like either.
kernel_symbol(kernel_name) as
    regexp_extract(regexp_replace(kernel_name, '\(anonymous namespace\)|<unnamed>|\(anonymous\)|^(?:typename )?std::enable_if<.*?>::type ', '', 'g'), '^[^(<]*')
