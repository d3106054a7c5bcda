-- Bytes per second, from bytes and nanoseconds; NULL if one is NULL or no time has passed.
bandwidth(bytes, duration_ns) as
    case when duration_ns > 0 then bytes * 1e9 / duration_ns end
