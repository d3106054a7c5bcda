"""Kinds of given cases on events of our own: devices of other makers, unusual communication and launches.

Broken files of our own are in `test_hostile.py`; tests of other kinds lie with the views that they are about.
"""

from __future__ import annotations

import pytest

from tests.support.events import (
    annotation,
    detail,
    event,
    hcom,
    kernel,
    launch,
    memcpy,
    on_device,
    op,
    task,
    tracks,
)
from tests.support.views import views

METRICS = ("E2E Time", "Computing Time", "Communication Time", "Uncovered Communication Time", "SDMA", "Free")


def split(house, scope="step is null"):
    """Where the time of the only device went, by METRICS."""
    figures = house.pairs(f"select metric, duration_ns from marts.overall where {scope}")
    return tuple(figures[metric] for metric in METRICS)


def operators(house):
    return house.pairs("select operator_name, device_duration_ns from marts.operator where step is null")


def test_phases_of_expert_parallelism_are_apart_and_compare_one_by_one():
    def rank(dispatch, combine):
        return [
            kernel("gemm", 0, 100),
            kernel("void deep_ep::intranode::notify_dispatch<8>(int*)", 100, 5, stream=9),
            kernel("void deep_ep::intranode::dispatch<8, 768>(int4*)", 105, dispatch, stream=9),
            kernel("void deep_ep::intranode::combine<8, 768>(int4*)", 300, combine, stream=9),
        ]

    house = views(old=rank(50, 30), new=rank(20, 70))
    of_old = "step is null and run_id = 'old'"
    assert split(house, of_old) == (330, 100, 85, 85, 0, 145)
    told = "select collective_name, total_duration_ns from marts.communication where "
    assert house.pairs(told + of_old) == {"notify": 5, "dispatch": 50, "combine": 30}
    compared = "select collective_name, diff_total_duration_ns from marts.communication_comparison"
    both = "base_run_id = 'old' and comparison_run_id = 'new' and base_step is null and comparison_step is null"
    assert house.pairs(f"{compared} where {both}") == {"notify": 0, "dispatch": -30, "combine": 40}


def test_copies_that_carry_out_an_all_gather_are_one_call_of_it():
    carried = {"Collective name": "_allgather_base", "Group size": 4, "dtype": "Float", "Process Group Name": "dp",
               "In msg nelems": 100, "Out msg nelems": 400, "Seq": 2}  # fmt: skip
    house = views(
        kernel("gemm", 100, 60),
        op("record_param_comms", 5, 20, args=carried),
        launch("cudaMemcpyAsync", 8, 2, 1),
        launch("cudaMemcpyAsync", 14, 2, 2),
        memcpy(110, 20, 9, name="Memcpy PtoP (Device -> Device)", correlation=1, bytes=600, args=carried),
        memcpy(130, 70, 9, name="Memcpy PtoP (Device -> Device)", correlation=2, bytes=600, args=carried),
    )
    assert split(house) == (100, 60, 90, 40, 0, 0)
    told = "select collective_name, call_count, total_duration_ns, input_bytes, output_bytes from marts.communication"
    assert house.rows(told) == [("allgather", 1, 90, 400, 1600)]


def test_calls_of_a_driver_below_the_runtime_launch_and_its_waits_are_no_device_time():
    house = views(
        op("aten::conv", 10, 20),
        event("xpu_runtime", "urEnqueueKernelLaunchWithArgsExp", 12, 10, correlation=31),
        event("xpu_driver", "zeCommandListImmediateAppendKernel", 14, 6, correlation=62),
        kernel("conv", 40, 25, correlation=31),
        op("aten::relu", 70, 10),
        event("xpu_driver", "zeCommandListImmediateAppendKernel", 72, 5, correlation=63),
        kernel("relu", 90, 15, correlation=63),
        on_device("xpu_sync", "zeEventHostSynchronize", 105, 400, 7, 0),
    )
    assert split(house) == (65, 40, 0, 0, 0, 25)
    assert operators(house) == {"aten::conv": 25, "aten::relu": 15}
    calls = "select call_count, total_duration_ns from marts.host_call where call_name like 'zeCommandList%'"
    assert house.one(f"{calls} and step is null") == (2, 11)
    assert house.pairs("select synchronization_name, total_duration_ns from marts.synchronization") == {
        "zeEventHostSynchronize": 400
    }


def test_what_an_mtia_device_ran_is_device_activity():
    house = views(
        op("aten::add", 10, 20),
        event("mtia_runtime", "runFunction - job_launch", 12, 5, correlation=1),
        on_device("mtia_ccp_events", "aten::add.out-dtype_Half", 50, 30, 3, 0, correlation=1),
        on_device("mtia_ccp_events", "dma_request", 85, 6, 4, 0, correlation=1),
    )
    assert split(house) == (41, 30, 0, 0, 6, 5)
    assert operators(house) == {"aten::add": 36}
    assert house.rows("select * from marts.problem") == []


def test_without_arguments_the_process_is_the_device_and_flows_tell_the_launch():
    def launched(at, name, started, length, category, flow):
        track = {"pid": 3, "tid": 0}
        return [
            op(f"aten::{name}", at, 10),
            event("cuda_runtime", "hipLaunchKernel", at + 2, 4, args={}),
            event("ac2g", "ac2g", at + 2, None, phase="s", flow_id=flow),
            event(category, name, started, length, args={}, **track),
            event("ac2g", "ac2g", started, None, phase="f", flow_id=flow, **track),
        ]

    house = views(launched(10, "mul", 30, 25, "kernel", "5"), launched(40, "copy_", 65, 8, "gpu_memcpy", "6"))
    assert house.pairs("select distinct device, step from marts.overall") == {3: None}
    assert split(house) == (43, 25, 0, 0, 8, 10)
    assert operators(house) == {"aten::mul": 25, "aten::copy_": 8}
    kinds = "select activity_kind, bytes from intermediate.int_device_activity"
    assert house.pairs(kinds) == {"kernel": None, "memcpy": None}


def test_texts_name_devices_and_streams():
    def converted(name, start, duration, device, stream):
        return event("kernel", name, start, duration, pid=f"Device {device}", tid=f"Stream {stream}", args={})

    house = views(
        converted("gemm", 10, 15, 0, 5),
        converted("gemm", 20, 15, 1, 5),
        converted("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 40, 12, 1, 23),
    )
    assert split(house, "step is null and device = 0") == (15, 15, 0, 0, 0, 0)
    assert split(house, "step is null and device = 1") == (32, 15, 12, 12, 0, 5)
    streams = "select device, list(stream order by stream) from intermediate.int_device_activity group by device"
    assert house.pairs(streams) == {0: [5], 1: [5, 23]}


def test_annotations_of_serving_are_calls_of_the_host_and_no_steps():
    names = ["step[EXTEND bs=2]", "step[DECODE bs=7]", "step[DECODE bs=7]"]
    house = views(
        [
            [
                annotation(name, 100 * place, 90),
                launch("cudaGraphLaunch", 100 * place + 5, 60, place + 1),
                kernel("a", 1_000 + 50 * place, 10, correlation=place + 1),
                kernel("b", 1_010 + 50 * place, 20, correlation=place + 1),
            ]
            for place, name in enumerate(names)
        ]
    )
    assert split(house) == (130, 90, 0, 0, 0, 40)
    calls = "select call_name, call_count from marts.host_call where call_kind = 'annotation' and step is null"
    assert house.pairs(calls) == {"step[EXTEND bs=2]": 1, "step[DECODE bs=7]": 2}
    assert house.rows("select * from marts.step") == []


def test_operators_that_autograd_launches_on_its_own_thread_have_their_device_time():
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    house = views(
        op("aten::addmm", 10, 20, sequence_number=4, forward_thread=0),
        launch("cudaLaunchKernel", 12, 3, 1),
        kernel("forward", 100, 30, correlation=1),
        annotation("backward", 40, 60),
        op(node, 50, 30, tid=2, sequence_number=4, forward_thread=1),
        op("AddmmBackward0", 52, 25, tid=2, sequence_number=4, forward_thread=1),
        launch("cudaLaunchKernel", 55, 3, 2, tid=2),
        kernel("backward", 140, 55, correlation=2),
    )
    assert operators(house) == {"aten::addmm": 30, node: 55}
    flags = "select activity_name, is_backward from intermediate.int_device_activity"
    assert house.pairs(flags) == {"forward": False, "backward": True}


@pytest.mark.parametrize("scope", ["step is null", "step = 4"])
def test_a_collective_is_of_the_step_that_its_row_in_the_kernel_details_says(scope):
    house = views(
        tracks(),
        task("MatMul_1", 300, 50),
        hcom("hcom_allGather__7", 380, 90),
        detail("MatMul_1", "MatMulV2", 300, 50, accelerator_core="AI_CORE", stream=2, step=4),
        detail("hcom_allGather__7", "hcom_allGather_", 380, 90, accelerator_core="HCCL", step=4),
    )
    assert split(house, scope) == (170, 50, 90, 90, 0, 30)
