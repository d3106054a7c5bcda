"""Launches that flows alone tell: stg_launch_flow, stg_flow_category, int_flow_launch, and what follows from them."""

from __future__ import annotations

import pytest

from tests.support.events import event, kernel, launch, memcpy, op, python, step
from tests.support.views import views

LAUNCHES = "select activity_name, launch_name, operator_name from intermediate.int_device_activity"
TOLD_BY = "select event_index, flow_category from intermediate.int_flow_launch"


def flow(category, at, arrives, flow_id="1", stream=7, tid=1):
    """A flow from a call on the host to what starts at `arrives` on a stream."""
    return [
        event(category, "flow", at, None, phase="s", flow_id=flow_id, tid=tid),
        event(category, "flow", arrives, None, phase="f", flow_id=flow_id, pid=0, tid=stream),
    ]


def named(category):
    """The category that a person named."""
    return "trace_metadata", {"key": "tracemill.flow_category", "value": category}


#   host    0 [ mm      [launch 5..7]  15]  20 [ add 30]  35 [launch 37]
#   flows            5 ─────────────────┐    25 ─────┐     36 ──┐
#   device                          40 gemm        50 sum    60 fill
HOST = [
    op("aten::mm", 0, 15, input_shapes="[[8]]"),
    launch("cudaLaunchKernel", 5, 2),
    op("aten::add", 20, 10),
    launch("cudaMemsetAsync", 35, 2),
]
DEVICE = [kernel("gemm", 40, 5), kernel("sum", 50, 5), kernel("fill", 60, 5)]


@pytest.mark.parametrize("category", ["ac2g", "async_gpu", "my flows", None])
def test_a_flow_of_any_category_tells_the_call_that_it_starts_in(category):
    house = views(HOST, DEVICE, flow(category, 5, 40), flow(category, 25, 50, "2"), flow(category, 36, 60, "3"))
    assert house.pairs(LAUNCHES) == {
        "gemm": ("cudaLaunchKernel", "aten::mm"),
        "sum": ("aten::add", "aten::add"),
        "fill": ("cudaMemsetAsync", None),
    }
    assert house.rows("select distinct flow_category from staging.stg_launch_flow") == [((category or "").lower(),)]


def test_a_correlation_that_names_a_launch_is_not_asked_about_again():
    house = views(
        op("aten::mm", 0, 15),
        launch("cudaLaunchKernel", 5, 2, correlation=9),
        op("aten::add", 20, 10),
        kernel("gemm", 40, 5, correlation=9),
        kernel("lost", 50, 5, correlation=10),
        flow("ac2g", 25, 40),
        flow("ac2g", 26, 50, "2"),
    )
    assert house.pairs(LAUNCHES) == {"gemm": ("cudaLaunchKernel", "aten::mm"), "lost": ("aten::add", "aten::add")}


def test_of_several_categories_that_of_kineto_counts_and_a_named_one_before_it():
    several = [*HOST, DEVICE[0], flow("a", 25, 40), flow("ac2g", 5, 40), flow("b", 36, 40)]
    house = views(any=several, named=[*several, named("B")], absent=[*several, named("c")])
    assert house.rows("select run_id, launch_name from intermediate.int_device_activity order by run_id") == [
        ("absent", None),
        ("any", "cudaLaunchKernel"),
        ("named", "cudaMemsetAsync"),
    ]
    assert house.pairs("select * from staging.stg_flow_category") == {"absent": "c", "named": "b"}
    assert house.pairs("select run_id, kind from marts.problem") == {"absent": "flow_category"}


def test_a_key_that_is_used_again_means_the_last_start_before_and_only_in_its_category():
    late = op("aten::sum", 42, 5)
    house = views(HOST, late, DEVICE[:2], flow("ac2g", 5, 40), flow("ac2g", 43, 50), flow("other", 36, 39))
    assert house.pairs(LAUNCHES) == {"gemm": ("cudaLaunchKernel", "aten::mm"), "sum": ("aten::sum", "aten::sum")}


def test_a_flow_that_goes_on_over_several_activities_arrives_at_each():
    def part(phase, at, **columns):
        return event("ac2g", "ac2g", at, None, phase=phase, flow_id="1", **columns)

    on_stream = {"pid": 0, "tid": 7}
    house = views(HOST, DEVICE[:2], part("s", 5), part("t", 40, **on_stream), part("f", 50, **on_stream))
    assert house.pairs(LAUNCHES) == {"gemm": ("cudaLaunchKernel", "aten::mm"), "sum": ("cudaLaunchKernel", "aten::mm")}


@pytest.mark.parametrize("category", ["async_npu", "ASYNC_NPU", "fwdbwd"])
def test_flows_of_categories_that_have_a_meaning_of_their_own_are_no_launches(category):
    house = views(HOST, DEVICE, flow(category, 5, 40))
    assert house.rows("select * from staging.stg_launch_flow") == []
    ascend = house.rows("select distinct is_arrival from staging.stg_device_flow order by 1")
    assert ascend == ([] if category == "fwdbwd" else [(False,), (True,)])


def test_the_innermost_call_that_is_open_launches_whatever_began_last():
    house = views(
        op("outer", 0, 100),
        op("inner", 10, 50),
        op("closed", 20, 5),
        op("closed inside", 21, 2),
        op("ends there", 25, 5),
        kernel("k", 200, 5),
        flow("ac2g", 30, 200),
    )
    assert house.pairs(LAUNCHES) == {"k": ("inner", "inner")}


def test_flows_that_lead_from_or_to_something_else_tell_nothing():
    house = views(
        HOST,
        DEVICE,
        flow("fwdbwd", 5, 40),
        flow("ac2g", 16, 50),  # where no call is open
        flow("ac2g", 5, 61, "3"),  # to no activity
        event("ac2g", "no start", 60, None, phase="f", flow_id="4", pid=0, tid=7),
    )
    assert house.rows(TOLD_BY) == []
    assert house.rows("select distinct top_operator_name from intermediate.int_device_activity") == [
        ("(no launch in the trace)",)
    ]


def test_steps_modules_and_operators_follow():
    house = views(
        step(3, 0, 100),
        python("nn.Module: Linear_0", 1, 50, 1),
        op("aten::linear", 5, 20, input_shapes="[[8]]"),
        launch("cudaLaunchKernel", 10, 2),
        kernel("gemm", 200, 7),
        memcpy(210, 3),
        flow("ac2g", 10, 200),
        flow("ac2g", 10, 210, "2"),
    )
    modules = "select module_name, device_self_duration_ns from marts.module where step = 3"
    assert house.pairs(modules) == {"/Linear_0": 10}
    operators = "select operator_name, device_duration_ns from marts.operator where step = 3"
    assert house.pairs(operators) == {"aten::linear": 10}


def test_a_correlation_else_a_flow_names_the_call_of_an_activity_and_an_external_id_the_operator_alone():
    house = views(
        op("aten::mm", 0, 15, external_id=7),
        launch("cudaLaunchKernel", 5, 2, correlation=3),
        launch("cudaMemsetAsync", 35, 2),
        kernel("gemm", 40, 5, correlation=3),
        kernel("fill", 60, 5),
        kernel("late", 80, 5, external_id=7),
        flow("ac2g", 36, 60),
    )
    calls = "select start_ns, launch_index, launch_name, operator_index from intermediate.int_activity_call order by 1"
    assert house.rows(calls) == [
        (40, 1, "cudaLaunchKernel", 0),
        (60, 2, "cudaMemsetAsync", None),
        (80, None, None, 0),
    ]
