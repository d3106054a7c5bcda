"""Views over what MindSpore's writers write: events without categories, ids that are times, names behind operators."""

from __future__ import annotations

import pytest

from tests.support.events import detail, device_flow, event, framework, hcom, on_track, op, plane_task, task, tracks
from tests.support.views import views

SCOPE = "Kernel::KernelLaunch::Default/network-Net/"


def named(pid, name):
    """The name of a process."""
    return event(None, "process_name", None, None, phase="M", pid=pid, tid=0, args={"name": name})


def test_events_of_its_process_are_host_calls_and_its_marker_is_a_step():
    house = views(
        tracks(),
        named("2", "CPU OP"),
        named("3", "Scope Layer"),
        named("4", "something else"),
        framework("Python::PythonObserved::ProfilerStep#12", 0, 900, tid=9),
        framework("Python2::Other3::ProfilerStep#13", 900, 100, tid=9),
        framework(f"{SCOPE}fc-Dense/MatMul-op1", 100, 20),
        framework("Host::CpuOp::GetNext", 105, 5, pid="2"),
        framework("Default", 300, 90, pid="3"),
        framework("?", 300, 90, pid="4"),
        framework("no duration", 400, None),
    )
    calls = "select call_name, call_count, total_duration_ns from marts.host_call where step is null"
    assert sorted(house.rows(calls)) == [
        ("Host::CpuOp::GetNext", 1, 5),
        (f"{SCOPE}fc-Dense/MatMul-op1", 1, 20),
    ]
    assert house.rows("select step, start_ns, duration_ns from marts.step order by 1") == [(12, 0, 900), (13, 900, 100)]
    assert house.rows("select distinct step from intermediate.int_host_call") == [(12,)]
    assert house.rows("select process_name, event_count from staging.stg_unread_event") == [("something else", 1)]
    untimed = "select problem_count, detail from marts.problem where kind = 'untimed_call'"
    assert house.one(untimed) == (1, "no duration: no duration")


@pytest.mark.parametrize("ids", [("1736408883700059.821", "1736408883700059.822"), ("9" * 30, "9" * 29), ("a", "b")])
def test_flows_whose_ids_are_alike_lead_each_kernel_to_its_own_operator(ids):
    """Both start in one microsecond, as both ids do."""
    house = views(
        tracks(),
        [framework(f"{SCOPE}{name}-op{at}", at, 10) for at, name in ((10, "MatMul"), (30, "Add"))],
        device_flow(ids[0], 10, 500, pid="mindspore"),
        device_flow(ids[1], 30, 501, pid="mindspore", stream=3),
        task("aclnnMatmul_MatMulV2", 500, 40),
        task("aclnnAdd_Add", 501, 7, stream=3),
        detail(f"{SCOPE}MatMul-op10/aclnnMatmul_MatMulV2", "MatMulV2", 500, 40),
        detail(f"{SCOPE}Add-op30/aclnnAdd_Add", "Add", 501, 7),
    )
    assert house.pairs("select operator_name, device_duration_ns from marts.operator where step is null") == {
        f"{SCOPE}MatMul-op10": 40,
        f"{SCOPE}Add-op30": 7,
    }
    names = "select kernel_name, kernel_type from marts.kernel where step is null"
    assert house.pairs(names) == {"aclnnMatmul_MatMulV2": "MatMulV2", "aclnnAdd_Add": "Add"}


def test_the_name_of_a_kernel_stands_behind_that_of_its_operator():
    names = {
        f"{SCOPE}fc-Dense/MatMul-op1/aclnnMatmul_MatMulV2": "aclnnMatmul_MatMulV2",
        "Runtime::OpExecute::Add/te_add_1": "te_add_1",
        "Default/network-Net/fc-Dense/MatMul-op1": "Default/network-Net/fc-Dense/MatMul-op1",
        "at_npu::native::foo": "at_npu::native::foo",
        "MatMul_1": "MatMul_1",
    }
    house = views([detail(name, "T", 10 * place, 1) for place, name in enumerate(names)])
    found = house.rows("select kernel_name from staging.stg_kernel_detail order by start_ns")
    assert [name for (name,) in found] == list(names.values())


#            300      340  400        500
# kernel     [========]
# collective               [==========]
@pytest.mark.parametrize("apart", [0, 1, -1, 999])
@pytest.mark.parametrize("core", ["HCCL", "COMMUNICATION"])
def test_the_step_of_a_collective_is_that_of_its_own_row(core, apart):
    """Rows of the table and events of the trace may be a rounding apart."""
    house = views(
        tracks(),
        task("k", 300_000, 40_000),
        hcom("hcom_allReduce__538_0_1", 400_000, 100_000),
        detail("k", "MatMulV2", 300_000, 40_000, step=4),
        detail("hcom", "hcom_allReduce_", 400_000 + apart, 100_000, step=5, accelerator_core=core),
        detail("earlier", "hcom_allReduce_", 100_000, 1, step=3, accelerator_core=core),
    )
    assert house.pairs("select activity_name, step from intermediate.int_device_activity") == {
        "k": 4,
        "hcom_allReduce__538_0_1": 5,
    }
    metrics = "select metric, duration_ns from marts.overall where step = 5 and depth < 2 and duration_ns > 0"
    assert house.pairs(metrics) == {
        "E2E Time": 100_000,
        "Uncovered Communication Time": 100_000,
        "Communication Time": 100_000,
    }


def test_a_collective_without_a_row_is_in_the_step_that_lasts_on_the_device():
    house = views(
        tracks(),
        hcom("hcom_allReduce__538_0_1", 40_000, 10_000),
        hcom("hcom_allReduce__538_1_1", 90_000, 10_000),
        [detail("k", "Add", at, 5_000, step=4) for at in (30_000, 60_000)],
    )
    steps = (
        "select activity_name, step from intermediate.int_device_activity where is_npu and activity_class <> 'compute'"
    )
    assert house.pairs(steps) == {"hcom_allReduce__538_0_1": 4, "hcom_allReduce__538_1_1": None}


@pytest.mark.parametrize(
    ("operator", "kernel_type", "kernel_name", "expected"),
    [
        (f"{SCOPE}optimizer/DistributedGradReducer/Mul-op9", "Mul", "te_mul", "Vector"),
        (f"{SCOPE}DistributedGradReducer/Mul-op9", None, "Default/DistributedGradReducer/Mul-op9", "Vector"),
        (f"{SCOPE}conv1-Conv2d/Conv2D-op8", None, "Default/network-Net/conv1-Conv2d/Conv2D-op8", "Conv"),
        (f"{SCOPE}conv1-Conv2d/BiasAdd-op8", "BiasAdd", "te_bias", "Vector"),
        (f"{SCOPE}attention-FlashAttention/Transpose-op3", "Transpose", "te_transpose", "Vector"),
        (f"{SCOPE}attention-FlashAttention/Transpose-op3", None, "Default/flash_attention/Transpose-op3", "Vector"),
        ("Default/flash_attention-Cell/MatMul-op3", "MatMulV2", "mm", "Matmul"),
        ("aten::convolution", "Mul", "te_mul", "Conv"),
    ],
)
def test_classes_are_told_by_operators_and_kernels_and_not_by_their_scopes(
    operator, kernel_type, kernel_name, expected
):
    house = views(
        tracks(),
        op(operator, 10, 10),
        device_flow(1, 10, 100),
        task(kernel_name, 100, 5),
        detail(kernel_name, kernel_type, 100, 5, accelerator_core="AI_VECTOR_CORE"),
    )
    assert house.one("select kernel_class from marts.kernel where step is null") == (expected,)


def test_scopes_of_the_backward_pass_are_told_and_cells_called_backward_are_none():
    house = views(
        tracks(),
        [
            [
                framework(name, at, 10),
                device_flow(str(at), at, at + 1_000, pid="mindspore"),
                task(str(at), at + 1_000, 5),
            ]
            for at, name in (
                (100, "Kernel::KernelLaunch::Gradients/Default/network-Net/gradConv2D/Conv2DBackpropInput-op1"),
                (200, f"{SCOPE}backward-Cell/Add-op2"),
                (300, f"{SCOPE}fc/AddBackward-op2"),
            )
        ],
    )
    found = "select activity_name, is_backward from intermediate.int_device_activity"
    assert house.pairs(found) == {"100": True, "200": False, "300": True}


def communication(groups_and_planes):
    """Threads of the process HCCL, by number, as metadata events."""
    return [
        event(None, "process_name", None, None, phase="M", pid="hccl", tid=0, args={"name": "HCCL"}),
        *(
            event(None, "thread_name", None, None, phase="M", pid="hccl", tid=tid, args={"name": name})
            for tid, name in groups_and_planes.items()
        ),
    ]


@pytest.mark.parametrize(
    ("numbers", "at"),
    [
        ({"a": 0, "a0": 1, "a1": 2, "b": 3, "b0": 4, "b1": 5}, 170),
        # As text, 10 comes before 9.
        ({"a": 8, "a0": 9, "a1": 10, "b": 11, "b0": 100, "b1": 101}, 170),
        # Planes before their group.
        ({"a0": 0, "a1": 1, "a": 2, "b0": 9, "b1": 10, "b": 11}, 170),
        # Between those of another: there only the times tell.
        ({"a0": 0, "b": 1, "a1": 2, "b0": 3, "b1": 9, "a": 10}, 210),
    ],
)
def test_planes_belong_to_the_group_whose_collectives_their_tasks_are_in(numbers, at):
    names = {"a": "Group tp Communication", "b": "Group dp Communication"}
    house = views(
        communication({tid: names.get(key, f"Plane {key[1:]}") for key, tid in numbers.items()}),
        [on_track("hccl", f"hcom_allReduce__{key}_0", at, 100, numbers[key]) for key, at in (("a", 100), ("b", 150))],
        [
            on_track("hccl", "Notify_Wait", start, 10, numbers[key])
            for key, start in (("a0", 110), ("a1", 160), ("b0", at))
        ],
        [on_track("hccl", "Memcpy", at, 10, numbers[key]) for key, at in (("a0", 120), ("a1", 120), ("b1", 230))],
    )
    tasks = "select process_group, task_name, start_ns from intermediate.int_collective_task"
    assert sorted(house.rows(tasks)) == [
        ("dp", "Memcpy", 230),
        ("dp", "Notify_Wait", at),
        ("tp", "Memcpy", 120),
        ("tp", "Memcpy", 120),
        ("tp", "Notify_Wait", 110),
        ("tp", "Notify_Wait", 160),
    ]
    assert house.one("select count(*) from intermediate.int_collective_task where collective_index is null") == (0,)


@pytest.mark.parametrize(
    ("before", "is_wait"),
    [
        ("RDMASend RDMASend", False),
        ("RDMASend RDMASend Notify_Wait RDMASend", False),
        ("RDMASend RDMASend Notify Wait RDMASend", False),
        # Near misses: one sends too few, in another order, or something lies between.
        ("RDMASend", True),
        ("RDMASend Memcpy", True),
        ("Memcpy RDMASend", True),
        ("RDMASend RDMASend Memcpy", True),
        ("Memcpy RDMASend Notify_Wait RDMASend", True),
        ("RDMASend Memcpy Notify_Wait RDMASend", True),
        ("RDMASend RDMASend Memcpy RDMASend", True),
        ("RDMASend Notify_Wait RDMASend", True),
        ("", True),
    ],
)
def test_a_wait_is_part_of_an_rdma_exchange_only_behind_its_pattern(before, is_wait):
    sent = [name.replace("Notify|Wait", "Notify Wait") for name in before.replace("Notify Wait", "Notify|Wait").split()]
    tasks = [plane_task(name, 110 + 10 * place, 5) for place, name in enumerate([*sent, "Notify_Wait"])]
    house = views(tracks(), hcom("hcom_allReduce__1", 100, 500), tasks)
    last = "select is_wait from intermediate.int_collective_task order by start_ns desc limit 1"
    assert house.one(last) == (is_wait,)
