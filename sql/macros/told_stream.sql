-- Stream that an event names: the number in `stream`, else the one in the text of its arguments (`Stream 7`).
told_stream(stream, args) as
    coalesce(stream, macros.stream_number(args ->> '$.stream'), macros.last_number(args ->> '$.stream'))
