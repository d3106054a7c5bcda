-- The stream that an event tells: the number in `stream`, else that of a text in its arguments (`Stream 7`).
told_stream(stream, args) as
    coalesce(stream, macros.stream_number(args ->> '$.stream'), macros.last_number(args ->> '$.stream'))
