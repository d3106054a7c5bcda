-- Device that an event names: the number in `device`, else the one in the text of its arguments (`cuda:1`).
told_device(device, args) as
    coalesce(device, macros.device_number(args ->> '$.device'), macros.last_number(args ->> '$.device'))
