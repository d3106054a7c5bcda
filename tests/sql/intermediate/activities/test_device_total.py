"""Where the time of a device went, in its pieces: int_device_total, int_metric_part."""

from __future__ import annotations

from tests.support.events import collective, gpu_step, kernel, memcpy
from tests.support.views import views

TOTAL = "select e2e_ns, compute_ns, communication_ns, busy_ns, active_ns from intermediate.int_device_total"


def test_each_instant_counts_once_and_each_duration_in_full():
    #            0    10   20   30   40   50
    # compute    ├─────────┤
    # compute         ├─────────┤
    # collective           ├─────────┤
    # copy                           ├────┤
    house = views(
        kernel("gemm", 0, 20, 1), kernel("gemm", 10, 20, 2), collective("allreduce", 20, 20), memcpy(40, 10, 3)
    )
    assert house.one(f"{TOTAL} where step is null") == (50, 30, 20, 40, 50)
    sums = "compute_total_ns, communication_total_ns, copy_total_ns"
    counted = f"select compute_count, {sums} from intermediate.int_device_total"
    assert house.one(counted) == (2, 40, 20, 10)


def test_a_step_has_its_own_extent_and_every_device_its_own_totals():
    house = views(
        gpu_step(1, 0, 100),
        kernel("gemm", 10, 20),
        kernel("gemm", 200, 5),
        kernel("gemm", 7, 3, device=1),
    )
    assert house.rows(
        "select step, device, e2e_ns, compute_ns from intermediate.int_device_total order by step nulls first, device"
    ) == [(None, 0, 195, 25), (None, 1, 3, 3), (1, 0, 20, 20)]


def test_parts_of_a_metric_say_below_which_branch_they_lie():
    house = views(kernel("ampere_sgemm_64x64", 0, 10, 1), kernel("flash_fwd_kernel", 20, 30, 1))
    columns = "branch, parent_metric, levels, place, metric, duration_ns"
    parts = f"select {columns} from intermediate.int_metric_part order by place"
    computing = "Computing Time"
    found = house.rows(parts)
    assert [row for row in found if row[2] == 1] == [
        (computing, computing, 1, "Flash Attention", "Flash Attention", 30),
        (computing, computing, 1, "Matmul", "Matmul", 10),
    ]
    below = {(parent, metric): duration for _, parent, levels, _, metric, duration in found if levels == 2}
    assert {key[0]: duration for key, duration in below.items()} == {"Flash Attention": 30, "Matmul": 10}
    assert all(metric.startswith(f"{parent} (") for parent, metric in below)
