-- Number of the device that a text names, such as `GPU 1`, `cuda:0`, `Device 0` and `/device:GPU:3 (NVIDIA H100)`; NULL
-- if it names none.
device_number(text) as
    try_cast(regexp_extract(lower(text), '(?:gpu|cuda|device|xpu|npu|hip|musa|mtia|hpu|tpu)[^0-9a-z]*([0-9]+)', 1) as bigint)
