-- Devices that the tables of an Ascend profile name: one row per run and device.
--
-- The kernel details name them, else the memory samples, whose numbering may differ.
--
-- @title Devices in tables
-- @grain run_id, place
-- @order run_id, place
-- @column run_id id Run
-- @column place id Position of the device in the order of numbers, from 1
-- @column device id Device
-- @column device_count count Devices of the run
select
    run_id,
    row_number() over (partition by run_id order by device) as place,
    device,
    count(*) over (partition by run_id) as device_count
from (
    select distinct run_id, device from staging.stg_kernel_detail where device is not null
    union all by name
    select distinct run_id, device
    from staging.stg_memory_sample
    where device is not null and run_id not in (select run_id from staging.stg_kernel_detail where device is not null)
)
