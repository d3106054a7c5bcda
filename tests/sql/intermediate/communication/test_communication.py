"""Collectives, their sizes and bandwidths: seeds.collective, seeds.data_type, int_collective, communication."""

from __future__ import annotations

import pytest

from tests.support.events import about, collective, kernel, launch, memcpy, step
from tests.support.views import catalog, views

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


@pytest.mark.parametrize(
    ("name", "sent", "received", "size", "expected"),
    [
        ("allreduce", 80, 80, 8, 80),
        ("broadcast", 80, None, 8, 80),
        ("reduce", 80, 80, 8, 80),
        ("_allgather_base", 10, 80, 8, 80),
        ("allgather", 10, None, 8, 80),  # input × ranks
        ("reduce_scatter", 80, 10, 8, 80),
        ("reduce_scatter", None, 10, 8, 80),  # output × ranks
        ("all_to_all", 80, 80, 8, 80),
        ("gather", 10, 80, 8, 80),
        ("gather", 10, None, 4, 40),
        ("scatter", 80, 10, 8, 80),
        ("scatter", None, 10, 4, 40),
        ("send", 80, None, 2, 80),
        ("recv", None, 80, 2, 80),
        ("allgather", 10, None, None, None),  # the number of ranks is not known
    ],
)
def test_the_size_of_a_bandwidth_follows_from_the_kind(name, sent, received, size, expected):
    house = views(collective(name, 10, 5, sent=sent, received=received, size=size, dtype="Byte"))
    assert house.one("select algorithm_bytes from intermediate.int_collective") == (expected,)
    assert house.rows("select * from marts.problem") == []


@pytest.mark.parametrize(
    ("name", "sent", "received", "detail"),
    [
        ("allreduce", 80, 40, "allreduce: 80 bytes in, 40 bytes out, 4 ranks"),
        ("allgather", 10, 80, "allgather: 10 bytes in, 80 bytes out, 4 ranks"),
        ("reduce_scatter", 80, 10, "reducescatter: 80 bytes in, 10 bytes out, 4 ranks"),
        ("all_to_all", 80, 90, "alltoall: 80 bytes in, 90 bytes out, 4 ranks"),
        ("gather", 10, 10, "gather: 10 bytes in, 10 bytes out, 4 ranks"),
        ("scatter", 41, 10, "scatter: 41 bytes in, 10 bytes out, 4 ranks"),
    ],
)
def test_sizes_that_contradict_each_other_are_reported_once_a_run(name, sent, received, detail):
    odd = {"sent": sent, "received": received, "size": 4, "dtype": "Byte"}
    house = views(collective("barrier", 0, 5), collective(name, 10, 5, **odd), collective(name, 20, 5, **odd))
    assert house.rows("select kind, problem_count, event_index, detail from marts.problem") == [
        ("collective_size", 2, 1, detail)
    ]


def all_to_all(splits, *, rank=0, size=2, sent=100, outputs=None, ranks=None, duration=10):
    args = {
        "Collective name": "all_to_allv",
        "In msg nelems": sent,
        "Out msg nelems": 70,
        "Group size": size,
        "dtype": "Byte",
        "In split size": splits,
        "Out split size": outputs or splits,
        "Rank": rank,
        "Process Group Ranks": ranks,
    }
    return kernel(
        "ncclDevKernel_SendRecv", 10, duration, args={key: value for key, value in args.items() if value is not None}
    )


UNEVEN = "select algorithm_bytes, sent_bytes, bus_factor, is_misfit from intermediate.int_collective"


def test_an_all_to_all_with_split_sizes_has_no_size_but_what_it_sends_to_others():
    # Splits are rows: of 100 bytes in 10 rows, 3 rows stay on rank 0.
    house = views(all_to_all("[3, 7]"))
    assert house.one(UNEVEN) == (None, 70, 0.5, False)
    columns = "algorithm_bandwidth, bus_bandwidth, sent_bytes, sent_bandwidth"
    assert house.one(f"select {columns} from marts.communication") == (None, None, 70, 7e9)


@pytest.mark.parametrize("splits", ["[100, 0]", "[0, 0, 12, 0]"])
def test_an_all_to_all_that_stays_on_the_rank_has_no_bus_factor(splits):
    rank = next(i for i, split in enumerate(splits.strip("[]").split(",")) if int(split))
    house = views(all_to_all(splits, rank=rank, size=splits.count(",") + 1))
    assert house.one(UNEVEN) == (None, 0, None, False)
    assert house.one("select bus_bandwidth, sent_bandwidth from marts.communication") == (None, 0)


def test_the_own_split_is_found_by_the_ranks_of_the_group_where_the_rank_in_it_is_not_recorded():
    house = views([about(rank=6), all_to_all("[3, 7]", rank=None, ranks="[2, 6]")])
    assert house.one(UNEVEN)[1] == 30
    assert views(all_to_all("[3, 7]", rank=None)).one(UNEVEN)[1] is None
    assert views([about(rank=1, world_size=2), all_to_all("[3, 7]", rank=None)]).one(UNEVEN)[1] == 30


@pytest.mark.parametrize("splits", ["[3, 7, ...]", "[]x", "[9223372036854775807, 9223372036854775807]", "[-3, 1e400]"])
def test_split_sizes_and_elements_of_any_text_and_size_break_nothing(splits):
    views(all_to_all(splits, sent=9223372036854775807, size=0)).one(UNEVEN)
    house = views(collective("allgather", 10, 5, sent=9223372036854775807, received=9223372036854775807))
    assert house.one(SIZES) == (None, None, None)


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
        ("gather", 8, 7 / 8),
        ("scatter", 4, 3 / 4),
        ("broadcast", 8, 1),
        ("reduce", 8, 1),
        ("send", 2, 1),
        ("allreduce", 1, None),  # nothing crosses any link
        ("all_to_all", 1, None),
        ("broadcast", 1, None),
        ("allreduce", 0, None),  # no group has no ranks
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


def test_what_was_sent_is_over_the_time_of_the_calls_that_tell_it():
    split = {"In split size": "[50, 50]", "Out split size": "[50, 50]", "Rank": 0}
    known = {"Collective name": "all_to_allv", "Group size": 2, "dtype": "Byte", "In msg nelems": 100}
    house = views(
        kernel("ncclDevKernel", 10, 10, args=known | split),
        kernel("ncclDevKernel", 100, 5000, args=known),
    )
    columns = "call_count, total_duration_ns, sent_bytes, sent_bandwidth"
    assert house.one(f"select {columns} from marts.communication") == (2, 5010, 50, 5e9)


def test_without_a_size_or_a_group_size_or_a_time_there_is_no_bandwidth():
    assert bandwidths(collective("allreduce", 10, 2000, size=4)) == (None, None)
    assert bandwidths(collective("allreduce", 10, 2000, size=None, sent=1000)) == (2e9, None)
    assert bandwidths(collective("allreduce", 10, 0, size=4, sent=1000)) == (None, None)
