-- Number of the stream that a text names, such as `stream 7 (compute)` and `Stream #13(MemcpyH2D)`; NULL if it names
-- none.
stream_number(text) as
    try_cast(regexp_extract(lower(text), '(?:stream|queue)[^0-9a-z]*([0-9]+)', 1) as bigint)
