-- Value of one side of a comparison, for differences: 0 if the side has no such row; NULL if it has the row but did not
-- measure the value.
or_nothing(run_id, quantity) as
    case when run_id is null then 0 else quantity end
