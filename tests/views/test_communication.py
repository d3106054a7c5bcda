"""Collectives, their sizes and bandwidths: seeds.collective, seeds.data_type, int_collective, communication."""

from __future__ import annotations

import pytest

from tests.rows import catalog, collective, kernel, launch, memcpy, step, views

NAMES = "select kernel_name, collective_name from intermediate.int_collective"
SIZES = "select input_bytes, output_bytes, algorithm_bytes from intermediate.int_collective"

# Names of collectives in metadata, as different versions write them.
METADATA = [
    ("allreduce", "allreduce"),
    ("all_reduce", "allreduce"),
    ("ALLREDUCE", "allreduce"),
    ("allreduce_coalesced", "allreduce"),
    ("_allgather_base", "allgather"),
    ("allgather_into_tensor_coalesced", "allgather"),
    ("_reduce_scatter_base", "reducescatter"),
    ("reduce_scatter_tensor_coalesced", "reducescatter"),
    ("all_to_all", "alltoall"),
    ("all_to_allv", "alltoall"),
    ("ALLTOALL_BASE", "alltoall"),
    ("broadcast", "broadcast"),
    ("send", "send"),
    ("recv", "recv"),
    ("barrier", "barrier"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("Wait", "wait"),  # an unknown name stays what it is
]
# Names of kernels, where there is no metadata.
KERNELS = [
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce"),
    ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "allreduce"),
    ("ncclDevKernel_AllGather_RING_LL(…)", "allgather"),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(…)", "reducescatter"),
    ("ncclDevKernel_Reduce_Sum_f32_RING_LL(…)", "reduce"),
    ("ncclDevKernel_Broadcast_RING_LL(…)", "broadcast"),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "sendrecv"),
    ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", "allreduce"),
    ("one_shot_all_reduce_kernel", "allreduce"),
    ("void two_shot_all_reduce_kernel<float>(…)", "allreduce"),
    ("multimem_all_reduce_kernel", "allreduce"),
    ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "unknown"),
    ("mscclpp_kernel<all_reduce>", "unknown"),  # template arguments are not the name
    ("ncclDevKernel(all_gather)", "unknown"),  # nor are arguments
]


@pytest.mark.parametrize(("name", "expected"), METADATA)
def test_the_name_in_the_metadata_names_the_collective(name, expected):
    house = views(collective(name, 10, 5, kernel_name="ncclDevKernel_Broadcast"))
    assert house.pairs(NAMES) == {"ncclDevKernel_Broadcast": expected}


def test_without_metadata_the_kernel_names_the_collective():
    assert views([kernel(name, 10, 5) for name, _ in KERNELS]).pairs(NAMES) == dict(KERNELS)


def test_only_collectives_with_a_usable_time_are_collectives():
    house = views(
        kernel("gemm", 10, 5),
        memcpy(20, 5),
        collective("allreduce", 30, None),
        kernel("ncclKernel_AllReduce", 40, -1),
        collective("broadcast", 50, 5),
        kernel("ncclKernel_AllReduce", 60, 5),
    )
    assert house.rows("select event_index, collective_name from intermediate.int_collective order by 1") == [
        (4, "broadcast"),
        (5, "allreduce"),
    ]


# -- sizes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("Float", 4),
        ("float32", 4),
        ("Half", 2),
        ("BFloat16", 2),
        ("Double", 8),
        ("Long", 8),
        ("Int", 4),
        ("Byte", 1),
        ("Bool", 1),
        ("Float8_e4m3fn", 1),
    ],
)
def test_sizes_are_elements_times_the_size_of_an_element(dtype, size):
    house = views(collective("allgather", 10, 5, dtype=dtype, sent=100, received=800))
    assert house.one(SIZES) == (100 * size, 800 * size, 800 * size)


def test_the_algorithm_size_is_the_larger_of_input_and_output():
    assert views(collective("reduce_scatter", 10, 5, sent=80, received=10)).one(SIZES) == (320, 40, 320)
    assert views(collective("broadcast", 10, 5, sent=80)).one(SIZES) == (320, None, 320)


def test_a_size_that_the_trace_does_not_tell_is_unknown_not_zero():
    assert views(kernel("ncclKernel_AllReduce", 10, 5)).one(SIZES) == (None, None, None)
    assert views(collective("allreduce", 10, 5, sent=80, dtype="Mystery")).one(SIZES) == (None, None, None)
    assert views(collective("allreduce", 10, 5, sent=80, dtype=None)).one(SIZES) == (None, None, None)


def test_every_data_type_has_a_size_and_stands_once():
    seed = catalog().seeds["data_type"]
    assert seed.columns == ("data_type", "element_bytes")
    assert all(name == name.lower() and int(size) > 0 for name, size in seed.rows)
    assert len({name for name, _ in seed.rows}) == len(seed.rows)


@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("allreduce", 8, 2 * 7 / 8),
        ("allgather", 8, 7 / 8),
        ("reduce_scatter", 8, 7 / 8),
        ("all_to_all", 8, 7 / 8),
        ("broadcast", 8, 1),
        ("send", 2, 1),
        ("allreduce", 1, 0),
        ("allreduce", None, None),
    ],
)
def test_the_bus_factor_is_the_part_that_crosses_the_slowest_link(name, size, factor):
    house = views(collective(name, 10, 5, size=size))
    assert house.one("select bus_factor from intermediate.int_collective") == (factor,)


# -- sequence --------------------------------------------------------------------------------------------


def test_the_sequence_is_the_recorded_one_else_the_place_within_the_process_group():
    house = views(
        collective("allreduce", 40, 5, group="dp"),
        collective("allreduce", 10, 5, group="dp"),
        collective("allreduce", 20, 5, group="tp"),
        collective("allreduce", 30, 5, group="pp", seq=17),
        collective("allreduce", 50, 5, group="pp", seq=18),
        kernel("ncclKernel_AllReduce", 25, 5),
        kernel("ncclKernel_AllReduce", 15, 5),
    )
    assert house.rows("select process_group, start_ns, sequence from intermediate.int_collective order by all") == [
        ("dp", 10, 0),
        ("dp", 40, 1),
        ("pp", 30, 17),
        ("pp", 50, 18),
        ("tp", 20, 0),
        (None, 15, 0),
        (None, 25, 1),
    ]


# -- the mart ----------------------------------------------------------------------------------------------


def test_collectives_are_counted_by_name_group_and_type_for_the_run_and_for_each_step():
    house = views(
        step(1, 0, 100),
        launch("x", 10, 1, correlation=1),
        collective("allreduce", 200, 10, sent=10, received=10, correlation=1),
        collective("allreduce", 220, 21, sent=10, received=10),
        collective("allreduce", 250, 5, sent=10, received=10, dtype="Half"),
        collective("allreduce", 260, 5, group="dp", size=2),
        collective("broadcast", 270, 5),
    )
    assert house.rows(
        "select step, collective_name, process_group, group_size, data_type, call_count, total_duration_ns,"
        " average_duration_ns, max_duration_ns, min_duration_ns, input_bytes, output_bytes"
        " from marts.communication order by all"
    ) == [
        (1, "allreduce", "tp", 8, "Float", 1, 10, 10, 10, 10, 40, 40),
        (None, "allreduce", "dp", 2, "Float", 1, 5, 5, 5, 5, None, None),
        (None, "allreduce", "tp", 8, "Float", 2, 31, 16, 21, 10, 80, 80),
        (None, "allreduce", "tp", 8, "Half", 1, 5, 5, 5, 5, 20, 20),
        (None, "broadcast", "tp", 8, "Float", 1, 5, 5, 5, 5, None, None),
    ]


def bandwidths(*events):
    return views(*events).one("select algorithm_bandwidth, bus_bandwidth from marts.communication")


def test_algorithm_bandwidth_is_size_over_time_and_bus_bandwidth_has_the_factor():
    # 1000 floats in 2 µs: 4000 B / 2000 ns = 2e9 B/s; allreduce of 4 ranks: × 2·3/4.
    assert bandwidths(collective("allreduce", 10, 2000, size=4, sent=1000)) == (2e9, 3e9)


def test_bandwidths_are_over_the_calls_whose_size_is_known():
    events = [
        collective("allreduce", 10, 2000, size=4, sent=1000),
        collective("allreduce", 5000, 6000, size=4, sent=3000),
        collective("allreduce", 20000, 99999, size=4),
    ]
    assert bandwidths(*events) == (16000 / 8000 * 1e9, 16000 * 1.5 / 8000 * 1e9)


def test_without_a_size_or_a_group_size_or_a_time_there_is_no_bandwidth():
    assert bandwidths(collective("allreduce", 10, 2000, size=4)) == (None, None)
    assert bandwidths(collective("allreduce", 10, 2000, size=None, sent=1000)) == (2e9, None)
    assert bandwidths(collective("allreduce", 10, 0, size=4, sent=1000)) == (None, None)
