-- comparison / base: NULL where base is 0 and comparison is not, 1 where both are 0, NULL where a side is missing.
ratio(base, comparison) as
    case
        when base <> 0 then comparison / base::double
        when base = 0 and comparison = 0 then 1.0
    end
