-- Bytes per second of a size moved in a time in nanoseconds; NULL where either is not known or no time has passed.
bandwidth(bytes, duration_ns) as
    case when duration_ns > 0 then bytes * 1e9 / duration_ns end
