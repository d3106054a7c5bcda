-- Product of two integers; NULL where either is, or where 64 bits do not hold it.
product(factor, other) as
    try_cast(factor::hugeint * other::hugeint as bigint)
