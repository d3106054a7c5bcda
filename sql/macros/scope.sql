-- What scopes are joined and filtered by: the step, −2 for the whole run. A filter on it passes an equality of it to both sides of a
-- join, so that nothing of other scopes is computed; one on the step stops at `is not distinct from`.
scope(step) as
    coalesce(step, -2)
