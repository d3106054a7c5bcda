-- A quantity of one side of a comparison, for differences: nothing (0) where the side has no such row, NULL where it has the row
-- but did not measure the quantity.
or_nothing(run_id, quantity) as
    case when run_id is null then 0 else quantity end
