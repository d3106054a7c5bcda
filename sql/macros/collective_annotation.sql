-- Collective that a backend's annotation names: all_reduce for nccl:all_reduce, send for `nccl:send 0->1`; empty for
-- any other name.
collective_annotation(call_name) as
    regexp_extract(lower(call_name), '^(?:[a-z_]*ccl|gloo|ucc|mpi):([a-z_0-9]+)', 1)
