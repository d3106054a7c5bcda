-- The number that stands for the average complete step, where `step` names a scope.
average_step() as
    (-1)::bigint
