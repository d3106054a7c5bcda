-- The device that an event tells: the number in `device`, else that of a text in its arguments (`cuda:1`).
told_device(device, args) as
    coalesce(device, macros.device_number(args ->> '$.device'), macros.last_number(args ->> '$.device'))
