-- Product of two integers; NULL if one is NULL or the product overflows 64 bits.
product(factor, other) as
    try_cast(factor::hugeint * other::hugeint as bigint)
