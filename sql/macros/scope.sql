-- Key by which scopes join and filter: the step, −2 for the whole run. A filter on this key reaches both sides of a
-- join as an equality, so other scopes are not computed. A filter on the step does not get past `is not distinct from`.
scope(step) as
    coalesce(step, -2)
