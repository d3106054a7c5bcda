"""Collectives that the host tells of: stg_collective_call, int_collective_call, int_collective_part."""

from __future__ import annotations

import pytest

from tests.support.events import (
    annotation,
    detail,
    device_flow,
    event,
    hcom,
    kernel,
    launch,
    memcpy,
    memset,
    op,
    overlap,
    task,
    tracks,
)
from tests.support.views import views

CLASSES = "select activity_name, activity_class, class_rule from intermediate.int_device_activity order by event_index"
KINDS = "select collective_name, data_type, input_bytes, algorithm_bytes from intermediate.int_collective"


def comms(start, duration, **columns):
    """A record_param_comms; meta= describes the collective as newer versions do, types= and shapes= as older ones."""
    known = {"input_types": columns.pop("types", None), "input_shapes": columns.pop("shapes", None)}
    return op("record_param_comms", start, duration, args=columns.pop("meta", None), **known, **columns)


def described(name, **more):
    return {
        "Collective name": name,
        "Group size": 4,
        "dtype": "Float",
        "In msg nelems": 10,
        "Out msg nelems": 10,
    } | more


# -- the kind ---------------------------------------------------------------------------------------------

# Old versions of NCCL call the kernels of all collectives after one.
SYMBOL = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"


@pytest.mark.parametrize(
    ("annotated", "kind"),
    [
        ("nccl:all_to_all", "alltoall"),
        ("nccl:_all_gather_base", "allgather"),
        ("nccl:_reduce_scatter_base", "reducescatter"),
        ("nccl:all_reduce", "allreduce"),
        ("nccl:all_reduce_barrier", "barrier"),
        ("nccl:broadcast", "broadcast"),
        ("nccl:send 0->1", "send"),
        ("nccl:recv 0<-1", "recv"),
        ("xccl:allreduce", "allreduce"),
        ("ucc:scatter", "scatter"),
        ("nccl:coalesced", "sendrecv"),  # says nothing, and so the kernel's name stands
        ("forward: all_reduce", "sendrecv"),  # of no backend
        ("my nccl:all_reduce", "sendrecv"),
    ],
)
def test_the_annotation_around_the_launch_tells_the_kind(annotated, kind):
    house = views(
        annotation(annotated, 0, 20),
        launch("cudaLaunchKernel", 5, 2, correlation=1),
        kernel(SYMBOL, 50, 5, correlation=1),
    )
    assert house.rows("select collective_name from intermediate.int_collective") == [(kind,)]
    assert house.rows("select collective_name, call_count from marts.communication") == [(kind, 1)]


def test_arguments_of_the_kernel_beat_record_param_comms_and_that_the_annotation_and_that_the_name():
    def under(number, meta=None, args=None, annotated="nccl:broadcast"):
        at = number * 100
        return [
            comms(at, 50, meta=meta),
            annotation(annotated, at + 5, 30),
            launch("cudaLaunchKernel", at + 10, 2, correlation=number),
            kernel("ncclDevKernel_AllReduce_Sum_f32", at + 60, 5, correlation=number, args=args or {}),
        ]

    house = views(
        under(1, described("_allgather_base"), {"Collective name": "gather"}),
        under(2, described("_allgather_base")),
        under(3),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 900, 5),
    )
    names = "select collective_name from intermediate.int_collective order by start_ns"
    assert house.rows(names) == [("gather",), ("allgather",), ("broadcast",), ("allreduce",)]


def test_what_the_kernel_lacks_is_found_in_the_call_that_names_the_same_collective():
    # Which rank it is and the sequence number came to kernels last.
    house = views(
        comms(0, 50, meta=described("allreduce", Seq=12, **{"Process Group Name": "tp"})),
        launch("cudaLaunchKernel", 10, 2, correlation=1),
        kernel("ncclDevKernel", 60, 5, correlation=1, args=described("allreduce", **{"In msg nelems": 7})),
        comms(100, 50, meta=described("allreduce", Seq=13)),
        launch("cudaLaunchKernel", 110, 2, correlation=2),
        kernel("ncclDevKernel", 160, 5, correlation=2, args={"Collective name": "broadcast"}),
    )
    columns = "collective_name, process_group, sequence, has_sequence, input_bytes, output_bytes"
    assert house.rows(f"select {columns} from intermediate.int_collective order by start_ns") == [
        ("allreduce", "tp", 12, True, 28, 40),
        ("broadcast", None, 0, False, None, None),
    ]


def test_an_annotation_that_has_ended_still_leaves_the_call_around_it():
    house = views(
        comms(0, 60, meta=described("reduce_scatter", **{"Out msg nelems": 40 // 16})),
        annotation("nccl:all_reduce", 5, 10),
        launch("cudaLaunchKernel", 30, 2, correlation=1),
        launch("cudaLaunchKernel", 60, 2, correlation=2),  # when both have ended
        kernel(SYMBOL, 100, 5, correlation=1),
        kernel(SYMBOL, 120, 5, correlation=2),
    )
    assert house.rows("select collective_name from intermediate.int_collective order by start_ns") == [
        ("reducescatter",),
        ("sendrecv",),
    ]


def test_a_call_inside_another_that_has_ended_leaves_the_one_around_it():
    # allreduce   ├──────────────────────────────────┤
    # broadcast       ├────┤    ├────┤
    # gather                    ├─┤                     starts with the second broadcast
    # launches           1   2   3   4     5      6    7
    house = views(
        comms(0, 100, meta=described("allreduce")),
        comms(10, 20, meta=described("broadcast")),
        comms(40, 20, meta=described("broadcast")),
        comms(40, 10, meta=described("gather")),
        [launch("x", at, 1, correlation=n) for n, at in enumerate((20, 30, 45, 50, 60, 99, 100), start=1)],
        [kernel("ring_step", 200 + 10 * n, 5, correlation=n) for n in range(1, 8)],
    )
    around = (
        "select event_index - 11, args ->> '$.\"Collective name\"' from intermediate.int_collective_call order by 1"
    )
    assert house.rows(around) == [
        (0, "broadcast"),
        (1, "allreduce"),
        (2, "gather"),
        (3, "broadcast"),
        (4, "allreduce"),
        (5, "allreduce"),
    ]


def test_a_call_that_outlives_the_one_around_it_stays_around():
    house = views(
        comms(0, 50, meta=described("allreduce")),
        comms(30, 50, meta=described("broadcast")),
        launch("x", 60, 1, correlation=1),
        kernel("ring_step", 200, 5, correlation=1),
    )
    assert house.rows("select collective_name from intermediate.int_collective") == [("broadcast",)]


def test_a_call_on_another_thread_or_of_another_process_is_not_around():
    house = views(
        comms(0, 60, meta=described("allreduce"), tid=2),
        annotation("nccl:all_reduce", 0, 60, pid=9),
        launch("cudaLaunchKernel", 30, 2, correlation=1),
        kernel("mystery", 100, 5, correlation=1),
    )
    assert house.rows("select * from intermediate.int_collective") == []


# -- sizes of old recordings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotated", "types", "shapes", "expected"),
    [
        ("nccl:all_reduce", '["float", "Scalar"]', "[[8, 4], []]", ("allreduce", "float", 128, 128)),
        ("nccl:all_reduce", '["c10::BFloat16"]', "[[8]]", ("allreduce", "c10::bfloat16", 16, 16)),
        # Whether an all-to-all had split sizes is not recorded.
        ("nccl:all_to_all", '["long int"]', "[[384]]", ("alltoall", "long int", 3072, None)),
        ("nccl:all_reduce", '["TensorList"]', "[[]]", ("allreduce", None, None, None)),
        ("nccl:all_reduce", '["float"]', "[[]]", ("allreduce", "float", None, None)),
        ("nccl:all_reduce", '["float"]', "[[4294967296, 4294967296]]", ("allreduce", "float", None, None)),
        ("nccl:all_reduce", '["float"]', '[["x"]]', ("allreduce", "float", None, None)),
        ("nccl:all_reduce", None, None, ("allreduce", None, None, None)),
    ],
)
def test_old_recordings_have_the_size_in_the_shape_of_the_first_input(annotated, types, shapes, expected):
    house = views(
        comms(0, 60, types=types, shapes=shapes),
        annotation(annotated, 5, 40),
        launch("cudaLaunchKernel", 30, 2, correlation=1),
        kernel(SYMBOL, 100, 5, correlation=1),
    )
    assert house.rows(KINDS) == [expected]


# -- what is a collective -----------------------------------------------------------------------------------


def test_what_is_launched_below_such_a_call_communicates_whatever_its_name():
    house = views(
        op("c10d::allreduce_", 0, 100),
        comms(10, 80),
        launch("urEnqueueKernelLaunch", 20, 2, correlation=1),
        launch("cudaLaunchKernel", 30, 2, correlation=2),
        launch("cudaLaunchKernel", 95, 2, correlation=3),
        kernel("vendor_ring_step<3>", 200, 5, correlation=1),
        kernel(
            "void c10d::checkForNaN<float>(float*, unsigned long)",
            210,
            5,
            correlation=2,
            args={"Collective name": "allreduce"},
        ),
        kernel("void at::native::reduce_kernel<512>", 220, 5, correlation=3),
    )
    assert house.rows(CLASSES) == [
        ("vendor_ring_step<3>", "communication", "launched below record_param_comms"),
        ("void c10d::checkForNaN<float>(float*, unsigned long)", "compute", "check of a collective's input for NaN"),
        ("void at::native::reduce_kernel<512>", "compute", "kernel of PyTorch's native library"),
    ]
    assert house.rows("select collective_name from intermediate.int_collective") == [("unknown",)]


def test_what_an_operator_of_aten_launches_in_there_is_its_own():
    # Tensors are copied into one buffer before the collective, and out of it.
    house = views(
        comms(0, 100, meta=described("allgather")),
        op("aten::copy_", 10, 20),
        launch("cudaLaunchKernel", 15, 2, correlation=1),
        op("xpu::ring", 40, 20),
        launch("cudaLaunchKernel", 45, 2, correlation=2),
        kernel("void at::native::elementwise_kernel<128>", 200, 5, correlation=1),
        kernel("ring_step", 210, 5, correlation=2),
    )
    assert [row[:2] for row in house.rows(CLASSES)] == [
        ("void at::native::elementwise_kernel<128>", "compute"),
        ("ring_step", "communication"),
    ]


def test_an_aten_operator_around_the_call_does_not_matter():
    house = views(
        op("aten::my_distributed", 0, 200),
        comms(10, 100, meta=described("allreduce")),
        launch("cudaLaunchKernel", 15, 2, correlation=1),
        kernel("step", 200, 5, correlation=1),
    )
    assert house.rows("select collective_name, input_bytes from intermediate.int_collective") == [("allreduce", 40)]


@pytest.mark.parametrize(
    ("name", "carries", "expected"),
    [
        ("Memcpy PtoP (Device -> Device)", True, "communication"),
        ("Memcpy PtoP (Device -> Device)", False, "communication"),
        ("Memcpy DtoD (Device -> Device)", False, "communication"),
        ("CopyDeviceToDevice", False, "communication"),
        ("Memcpy HtoD (Pageable -> Device)", True, "communication"),
        ("Memcpy HtoD (Pageable -> Device)", False, "copy"),  # arguments of a kernel, not the message
        ("Memcpy DtoH (Device -> Pinned)", False, "copy"),
    ],
)
def test_copies_carry_out_a_collective_where_they_say_so_or_stay_on_devices(name, carries, expected):
    house = views(
        comms(0, 100, meta=described("allgather")),
        launch("cudaMemcpyAsync", 15, 2, correlation=1),
        memcpy(200, 5, name=name, correlation=1, args=described("allgather") if carries else {}),
        memset(300, 5, correlation=1, args=described("allgather")),
        memcpy(400, 5, name="Memcpy PtoP (Device -> Device)"),  # of nobody
    )
    assert [row[1] for row in house.rows(CLASSES)] == [expected, "copy", "copy"]


def test_copies_below_one_call_are_one_collective_and_its_time_is_that_in_which_any_ran():
    #       200    210    220    230    240
    # to 1   ├─────────────┤
    # to 2          ├─────────────┤
    # to 3                               ├──┤
    house = views(
        comms(0, 100, meta=described("_allgather_base", **{"Out msg nelems": 40, "Seq": 3})),
        [launch("cudaMemcpyAsync", 10 * n, 2, correlation=n) for n in (1, 2, 3)],
        memcpy(
            200,
            20,
            stream=1,
            correlation=1,
            name="Memcpy PtoP",
            args=described("_allgather_base", **{"Out msg nelems": 40}),
        ),
        memcpy(
            210,
            20,
            stream=2,
            correlation=2,
            name="Memcpy PtoP",
            args=described("_allgather_base", **{"Out msg nelems": 40}),
        ),
        memcpy(
            240,
            5,
            stream=3,
            correlation=3,
            name="Memcpy PtoP",
            args=described("_allgather_base", **{"Out msg nelems": 40}),
        ),
    )
    assert house.rows(
        "select collective_name, call_count, total_duration_ns, input_bytes, output_bytes from marts.communication"
    ) == [("allgather", 1, 35, 40, 160)]
    assert house.one("select event_index, start_ns, end_ns from intermediate.int_collective_part") == (4, 200, 245)
    figures = house.pairs("select metric, duration_ns from marts.overall where step is null")
    assert (figures["Communication Time"], figures["SDMA"]) == (35, 0)


def test_kernels_that_only_the_call_describes_are_one_collective_and_its_size_counts_once():
    steps = [launch("x", 10 * n, 2, correlation=n) for n in (1, 2)]
    names = ["oneccl_reduce_scatter_small<float>", "oneccl_allgather_small<float>"]
    kernels = [kernel(name, 200 + 10 * n, 10 + 10 * n, correlation=n + 1) for n, name in enumerate(names)]
    figures = "select collective_name, call_count, total_duration_ns, input_bytes from marts.communication order by 1"
    assert views(comms(0, 100, meta=described("allreduce")), steps, kernels).rows(figures) == [("allreduce", 1, 30, 40)]
    # Nothing says that they are one.
    assert views(comms(0, 100), steps, kernels).rows(figures) == [
        ("allgather", 1, 20, None),
        ("reducescatter", 1, 10, None),
    ]
    # Kernels that describe themselves are as many, as those of a coalesced group.
    each = [
        kernel("ncclDevKernel", 200 + 30 * n, 10, correlation=n, args=described("allgather", Seq=7)) for n in (1, 2)
    ]
    assert views(comms(0, 100, meta=described("allgather", Seq=7)), steps, each).rows(figures) == [
        ("allgather", 2, 20, 80)
    ]


def test_copies_without_a_launch_belong_together_by_their_sequence_number():
    def copy(start, number):
        return memcpy(
            start, 10, name="Memcpy PtoP", args=described("_allgather_base", Seq=number, **{"Process Group Name": "1"})
        )

    house = views(
        copy(0, 5),
        copy(10, 5),
        copy(30, 6),
        memcpy(50, 10, args=described("broadcast")),
        memcpy(60, 10, args=described("broadcast")),
    )
    assert house.rows(
        "select collective_name, sequence, duration_ns from intermediate.int_collective order by start_ns"
    ) == [
        ("allgather", 5, 20),
        ("allgather", 6, 10),
        ("broadcast", 0, 10),
        ("broadcast", 1, 10),
    ]


def test_a_run_without_such_calls_has_none():
    house = views(
        op("aten::mm", 0, 10),
        launch("x", 5, 1, correlation=1),
        kernel("gemm", 20, 5, correlation=1),
        event("cpu_op", "record_param_comms", None, None),
    )
    assert house.rows("select * from staging.stg_collective_call") == []
    assert house.rows("select * from intermediate.int_collective_call") == []


# -- Ascend -------------------------------------------------------------------------------------------------


def test_kernels_of_an_ascend_device_below_such_a_call_are_told_by_their_type_alone():

    house = views(
        tracks(),
        comms(0, 100, meta=described("allreduce")),
        device_flow(1, 50, 200),
        task("Add", 200, 5),
        detail("Add", "Add", 200, 5),
    )
    assert [row[1] for row in house.rows(CLASSES)] == ["compute"]


def test_moe_kernels_count_as_the_overlap_analysis_counts_them_and_are_in_the_communication_nevertheless():

    profile = [
        tracks(),
        hcom("hcom_allReduce__1_0", 100, 10),
        detail("moe", "MoeDistributeDispatchV2", 0, 50),
        detail("mm", "MatMulV2", 50, 50),
    ]
    with_analysis = views(profile, overlap(0, 0, 100), overlap(1, 100, 10), overlap(2, 100, 10))
    assert with_analysis.pairs("select metric, duration_ns from marts.overall where is_part and metric like 'C%'") == {
        "Computing Time": 100
    }
    assert with_analysis.rows("select * from marts.problem") == []
    for house in (
        with_analysis,
        views(detail("moe", "MoeDistributeDispatchV2", 0, 50), detail("mm", "MatMulV2", 50, 50)),
    ):
        assert (
            house.pairs("select kernel_type, kernel_class from marts.kernel")["MoeDistributeDispatchV2"]
            == "Communication"
        )
        assert house.pairs("select collective_name, total_duration_ns from marts.communication")["dispatch"] == 50
    figures = house.pairs("select metric, duration_ns from marts.overall where step is null")
    assert (figures["Computing Time"], figures["Uncovered Communication Time"]) == (50, 50)


def test_a_kernel_that_starts_a_collective_from_the_ai_cpu_is_none_beside_it():

    alone = views(detail("allgatherAicpuKernel", "allgatherAicpuKernel", 0, 50))
    assert alone.rows("select collective_name from marts.communication") == [("allgather",)]
    beside = views(
        tracks(), hcom("hcom_allGather__1_0", 10, 40), detail("allgatherAicpuKernel", "allgatherAicpuKernel", 0, 50)
    )
    assert beside.rows("select collective_name, call_count from marts.communication") == [("allgather", 1)]
