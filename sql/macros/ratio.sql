-- comparison / base: 1 if both are 0; NULL if only base is 0, or a side is missing.
ratio(base, comparison) as
    case
        when base <> 0 then comparison / base::double
        when base = 0 and comparison = 0 then 1.0
    end
