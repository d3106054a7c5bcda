-- Name of a kernel with its namespaces, but without template arguments and parameters: `void a::f` for
-- `void a::f<int>(float*)`. Anonymous namespaces and return types by `std::enable_if` are left out, since their
-- brackets look like either.
kernel_symbol(kernel_name) as
    regexp_extract(regexp_replace(kernel_name, '\(anonymous namespace\)|<unnamed>|\(anonymous\)|^(?:typename )?std::enable_if<.*?>::type ', '', 'g'), '^[^(<]*')
