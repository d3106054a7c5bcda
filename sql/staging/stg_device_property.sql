-- Properties of devices: one row per run and device that the trace describes.
--
-- @title Properties of devices
-- @grain run_id, device
-- @order run_id, device
-- @column run_id id Run
-- @column device id Device
-- @column device_name name Name of the model
-- @column compute_major count Major number of its compute capability
select
    run_id,
    property.id as device,
    any_value(property.name) as device_name,
    any_value(property."computeMajor") as compute_major
from (
    select
        run_id,
        unnest(json_transform(value, '[{"id": "BIGINT", "name": "VARCHAR", "computeMajor": "BIGINT"}]')) as property
    from raw.trace_metadata
    where key = 'deviceProperties' and json_valid(value)
)
where property.id is not null
group by run_id, property.id
