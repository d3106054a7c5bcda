"""Steps and their average: int_scope, step, step_average."""

from __future__ import annotations

import pytest

from tests.support.events import annotation, gpu_step, kernel, launch, memcpy, op, step
from tests.support.views import views

STEP = "select step, {} from marts.step"


def worked(number, kernels, *, length=100, missing=0, duration=10):
    """Step `number` of a length, at number × 1000, with launches of `kernels` back to back, the last `missing` lost."""
    at = number * 1000
    return [
        step(number, at, length),
        [launch("cudaLaunchKernel", at + i, 1, correlation=at + i) for i in range(kernels)],
        [kernel("gemm", at + 20 + i * duration, duration, correlation=at + i) for i in range(kernels - missing)],
    ]


def test_a_step_is_complete_where_every_kernel_launch_has_its_activity():
    house = views(worked(1, 3), worked(2, 3, missing=1))
    columns = "is_complete, launch_count, launch_without_activity_count, device_activity_count, device_duration_ns"
    assert house.pairs(STEP.format(columns)) == {1: (True, 3, 0, 3, 30), 2: (False, 3, 1, 2, 20)}


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel",
        "cuLaunchKernelEx",
        "hipExtModuleLaunchKernel",
        "cudaGraphLaunch",
        "cudaLaunchCooperativeKernel",
        "urEnqueueKernelLaunchWithArgsExp",
        "zeCommandListAppendLaunchKernel",
        "zeCommandListImmediateAppendKernel",
        "clEnqueueNDRangeKernel",
        "muLaunchKernel",
        "runFunction - job_launch",
    ],
)
def test_every_way_to_launch_a_kernel_must_have_its_activity(name):
    house = views(step(1, 0, 100), launch(name, 10, 1, correlation=5), kernel("k", 500, 5))
    assert house.one(STEP.format("is_complete, launch_count")) == (1, False, 1)


@pytest.mark.parametrize("name", ["cudaLaunchHostFunc", "cudaMemcpyAsync", "urEnqueueUSMMemcpy", "cudaStreamWaitEvent"])
def test_other_runtime_calls_need_none(name):
    house = views(step(1, 0, 100), launch(name, 10, 1, correlation=5), kernel("k", 500, 5))
    assert house.one(STEP.format("is_complete, launch_count")) == (1, True, 0)


def test_an_operator_or_annotation_that_is_called_launch_is_no_launch():
    house = views(step(1, 0, 100), op("launch", 10, 1), annotation("launch", 20, 1), kernel("k", 500, 5))
    assert house.one(STEP.format("launch_count")) == (1, 0)


def test_one_graph_launch_with_many_activities_is_one_launch():
    house = views(
        step(1, 0, 100),
        launch("cudaGraphLaunch", 10, 1, correlation=5),
        kernel("a", 500, 5, correlation=5),
        kernel("b", 510, 5, correlation=5),
    )
    assert house.one(STEP.format("is_complete, launch_count, device_activity_count")) == (1, True, 1, 2)


def test_a_launch_whose_activity_has_no_usable_time_is_not_a_launch_without_activity():
    house = views(
        step(1, 0, 100),
        launch("cudaLaunchKernel", 10, 1, correlation=5),
        launch("cudaLaunchKernel", 20, 1, correlation=6),
        kernel("a", 500, 5, correlation=5),
        kernel("no duration", 510, None, correlation=6),
    )
    assert house.one(STEP.format("launch_count, launch_without_activity_count")) == (1, 2, 0)


def test_an_activity_without_a_usable_time_counts_in_no_step():
    house = views(
        worked(1, 1),
        launch("cudaLaunchKernel", 1_050, 1, correlation=5),
        kernel("broken", 1_060, -7, correlation=5),
        launch("cudaLaunchKernel", 1_052, 1, correlation=6),
        kernel("endless", 1_070, None, correlation=6),
    )
    columns = "device_activity_count, device_duration_ns, duration_with_tail_ns"
    assert house.pairs(STEP.format(columns)) == {1: (1, 10, 100)}


def test_the_tail_ends_with_the_last_activity_where_that_is_later_than_the_marker():
    #               0                100        150
    # step 1        ├────────────────┤
    # its kernels               ├────────┤              ends 150: 50 of tail
    # step 2                          ├──────────────┤  200
    # its kernels                          ├──┤         inside
    house = views(
        step(1, 0, 100),
        step(2, 100, 100),
        launch("x", 10, 1, correlation=1),
        launch("x", 110, 1, correlation=2),
        kernel("a", 90, 60, correlation=1),
        kernel("b", 150, 10, correlation=2),
    )
    assert house.pairs(STEP.format("start_ns, duration_ns, duration_with_tail_ns")) == {
        1: (0, 100, 150),
        2: (100, 100, 100),
    }


def test_a_step_without_device_activities_has_none_in_a_run_that_has_some():
    house = views(worked(1, 1), step(2, 2000, 50))
    columns = "device_activity_count, device_duration_ns, duration_with_tail_ns, is_complete"
    assert house.pairs(STEP.format(columns))[2] == (0, 0, 50, True)


def test_what_a_run_without_device_activities_cannot_tell_is_null():
    house = views(step(1, 0, 100), launch("cudaLaunchKernel", 10, 1, correlation=5))
    assert house.one(STEP.format("duration_ns, is_complete, device_activity_count, device_duration_ns")) == (
        1,
        100,
        None,
        None,
        None,
    )


def test_a_step_known_from_a_device_track_alone_has_no_length():
    house = views(gpu_step(4, 100, 50), kernel("k", 110, 5))
    columns = "start_ns, duration_ns, duration_with_tail_ns, device_activity_count"
    assert house.one(STEP.format(columns)) == (4, None, None, None, 1)


def test_copies_count_as_activities_of_the_step():
    house = views(step(1, 0, 100), launch("cudaMemcpyAsync", 10, 1, correlation=5), memcpy(500, 7, correlation=5))
    assert house.one(STEP.format("device_activity_count, device_duration_ns")) == (1, 1, 7)


def test_the_scopes_of_a_run_are_the_whole_and_each_step():
    house = views(v1=[step(3, 0, 10), gpu_step(4, 20, 10), step(3, 30, 10)], v2=[])
    assert house.rows("select run_id, step from intermediate.int_scope order by all") == [
        ("v1", -1),
        ("v1", 3),
        ("v1", 4),
        ("v1", None),
        ("v2", None),
    ]


def test_scopes_pair_by_number_and_the_average_with_the_average():
    house = views(v1=[step(3, 0, 10), step(4, 20, 10)], v2=[step(4, 0, 10)], v3=[])
    pairs = "select base_step, comparison_step from intermediate.int_scope_pair where base_run_id = 'v1'"
    assert house.rows(f"{pairs} and comparison_run_id = 'v2' order by all") == [(-1, -1), (4, 4), (None, None)]
    assert house.rows(f"{pairs} and comparison_run_id = 'v3' order by all") == [(None, None)]
    assert len(house.rows(f"{pairs} and comparison_run_id = 'v1'")) == 4


def test_the_average_step_is_made_of_complete_steps_of_all_where_no_step_is_known_to_be():
    whole = [step(1, 0, 100), op("a", 1, 9), launch("cudaLaunchKernel", 2, 3, 1), kernel("k", 10, 5, correlation=1)]
    cut = [step(2, 100, 100), launch("cudaLaunchKernel", 102, 3, 2)]
    house = views(v1=[*whole, *cut], v2=[step(1, 0, 10), op("a", 1, 5), step(2, 10, 10)])
    assert house.rows("select * from intermediate.int_averaged_step order by all") == [
        ("v1", 1, 1), ("v2", 1, 2), ("v2", 2, 2)
    ]  # fmt: skip


# -- the average -----------------------------------------------------------------------------------------------


def averages(*events):
    return views(*events).pairs("select (device_ordinal, metric), average_duration_ns from marts.step_average")


def test_averages_are_over_complete_steps():
    # Step 3 is cut: shorter, with a kernel lost.
    events = [worked(1, 2, length=100), worked(2, 4, length=301), worked(3, 2, length=40, missing=1)]
    found = averages(*events)
    assert found[None, "Step Length"] == 201  # 200.5 is rounded
    assert found[None, "Step Length with Device Tail"] == 201
    assert found[None, "Device Time"] == (20 + 40) / 2
    assert found[0, "Computing Time"] == (20 + 40) / 2
    assert views(*events).rows("select distinct step_count, complete_step_count from marts.step_average") == [(3, 2)]


def test_the_parts_of_the_average_sum_to_its_e2e_time_up_to_rounding():
    found = averages(
        worked(1, 2),
        memcpy(1060, 7, correlation=1000),
        worked(2, 4),
        kernel("ncclKernel_AllReduce", 2100, 9, correlation=2000),
    )
    parts = [found[0, part] for part in ("Computing Time", "Uncovered Communication Time", "SDMA", "Free")]
    assert sum(parts) == pytest.approx(found[0, "E2E Time"], abs=2)
    assert found[0, "Free Time"] == pytest.approx(found[0, "SDMA"] + found[0, "Free"], abs=1)


def test_a_complete_step_in_which_a_device_was_idle_counts_with_nothing():
    events = [worked(1, 2), worked(2, 2), kernel("gemm", 1500, 30, device=1, correlation=1000)]
    assert averages(*events)[1, "Computing Time"] == 30 / 2


def test_each_device_has_its_own_average():
    events = [worked(1, 1), kernel("gemm", 1500, 30, device=5, correlation=1000)]
    found = averages(*events)
    assert (found[0, "Computing Time"], found[1, "Computing Time"]) == (10, 30)


def test_a_run_without_complete_steps_has_no_average():
    found = averages(worked(1, 2, missing=1))
    assert set(found.values()) == {None}


def test_without_device_activities_the_length_is_averaged_over_all_steps():
    house = views(step(1, 0, 100), step(2, 100, 300))
    assert house.rows(
        "select metric, step_count, complete_step_count, average_duration_ns"
        " from marts.step_average order by metric_order"
    ) == [
        ("Step Length", 2, None, 200),
        ("Step Length with Device Tail", 2, None, 200),
        ("Device Time", 2, None, None),
    ]


def test_a_run_without_steps_has_no_rows():
    house = views(kernel("gemm", 0, 10))
    assert house.rows("select * from marts.step_average") == []
    assert house.rows("select * from marts.step") == []


def test_metrics_are_in_order_and_the_parts_are_marked():
    house = views(worked(1, 2))
    assert house.rows("select metric, is_part from marts.step_average order by metric_order") == [
        ("Step Length", False),
        ("Step Length with Device Tail", False),
        ("Device Time", False),
        ("E2E Time", False),
        ("Computing Time", True),
        ("Uncovered Communication Time", True),
        ("Free Time", False),
        ("SDMA", True),
        ("Free", True),
        ("Host Wall Clock", False),
    ]
