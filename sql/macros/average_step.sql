-- The `step` of the average complete step, as a scope.
average_step() as
    (-1)::bigint
