"""Collectives across the ranks of one execution: int_collective_match, collective_skew, rank_clock."""

from __future__ import annotations

from tests.support.events import about, collective, kernel
from tests.support.views import catalog, views

SKEW = (
    "select run_id, start_skew_ns, wait_ns, transfer_ns, is_last_to_arrive from marts.collective_skew order by run_id"
)


def rank(number, *events, label="job", base=None):
    return [about(label=label, rank=number, base_time_ns=base), *events]


def test_waiting_is_until_the_last_rank_starts_and_the_transfer_from_there():
    #        100       110       120       130       140
    # rank 0  ├─────────────────────────────┤           waits 20, transfers 10
    # rank 1            ├──────────────────────────┤    waits 10, transfers 15
    # rank 2                      ├────────────┤        last: waits 0, transfers 13
    house = views(
        r0=rank(0, collective("allreduce", 100, 30)),
        r1=rank(1, collective("allreduce", 110, 25)),
        r2=rank(2, collective("allreduce", 120, 13)),
    )
    assert house.rows(SKEW) == [
        ("r0", 20, 20, 10, False),
        ("r1", 20, 10, 15, False),
        ("r2", 20, 0, 13, True),
    ]
    assert house.rows("select distinct label, collective_name, rank_count from marts.collective_skew") == [
        ("job", "allreduce", 3)
    ]


def test_times_are_put_on_one_clock_with_the_base_time_of_each_trace():
    # On the clock of its own trace, rank 1 starts at 10; its base time is 95 later.
    house = views(
        r0=rank(0, collective("allreduce", 100, 30), base=1000),
        r1=rank(1, collective("allreduce", 10, 25), base=1095),
    )
    assert house.rows(SKEW) == [("r0", 5, 5, 25, False), ("r1", 5, 0, 25, True)]


def test_collectives_with_a_sequence_number_match_by_it_and_never_by_time():
    # Sequence 7 of rank 1 starts while rank 0 is in it, and ends in sequence 8 of rank 0.
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, seq=7), collective("allreduce", 110, 10, seq=8)),
        r1=rank(1, collective("allreduce", 109, 6, seq=7), collective("allreduce", 116, 20, seq=8)),
    )
    sql = "select sequence, run_id, wait_ns, matched_by from marts.collective_skew order by all"
    assert house.rows(sql) == [
        (7, "r0", 9, "sequence"),
        (7, "r1", 0, "sequence"),
        (8, "r0", 6, "sequence"),
        (8, "r1", 0, "sequence"),
    ]


def test_without_a_recorded_sequence_the_place_in_the_group_matches():
    house = views(
        r0=rank(0, kernel("ncclKernel_AllReduce", 100, 10), kernel("ncclKernel_AllReduce", 200, 10)),
        r1=rank(1, kernel("ncclKernel_AllReduce", 103, 10), kernel("ncclKernel_AllReduce", 204, 10)),
    )
    sql = "select sequence, start_skew_ns from marts.collective_skew where run_id = 'r0' order by 1"
    assert house.rows(sql) == [(0, 3), (1, 4)]


def test_process_groups_names_and_executions_are_apart():
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, group="a", seq=1)),
        r1=rank(1, collective("allreduce", 110, 10, group="b", seq=1)),
        r2=rank(2, collective("broadcast", 120, 10, group="a", seq=1)),
        r3=rank(0, collective("allreduce", 130, 10, group="a", seq=1), label="another job"),
    )
    assert house.rows(SKEW) == []


def test_a_collective_that_one_rank_recorded_has_no_row():
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, seq=1), collective("allreduce", 150, 10, seq=2)),
        r1=rank(1, collective("allreduce", 110, 10, seq=2)),
    )
    assert house.rows("select sequence, run_id from marts.collective_skew order by 2") == [(2, "r0"), (2, "r1")]


def test_one_rank_that_records_a_collective_twice_is_still_one_rank():
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, seq=1), collective("allreduce", 150, 10, seq=1)),
        r1=rank(1),
    )
    assert house.rows(SKEW) == []


def test_a_point_to_point_call_and_a_collective_may_share_a_sequence_number():
    # PyTorch counts collectives and point-to-point calls of one group apart: both may be number 1. The grain holds.
    events = [collective("allreduce", 100, 10, seq=1), collective("send", 150, 10, seq=1)]
    house = views(r0=rank(0, *events), r1=rank(1, *events))
    columns = ", ".join(catalog().views["marts.collective_skew"].grain)
    assert house.rows(f"select {columns} from marts.collective_skew group by all having count(*) > 1") == []


def test_a_send_is_never_that_of_another_rank_and_does_not_count_among_the_collectives():
    # A pipeline: rank 0 sends to 1 while 1 sends to 2. Each rank counts on its own, so that numbers and times coincide.
    def stage(shift, *transfers, numbers=True):
        return [
            collective("allreduce", 100 + shift, 50, group="pp", seq=1 if numbers else None),
            [
                collective(kind, at, 20, group="pp", seq=n if numbers else None)
                for n, (kind, at) in enumerate(transfers)
            ],
            collective("allreduce", 300 + shift, 50, group="pp", seq=2 if numbers else None),
        ]

    for numbers in (True, False):
        house = views(
            r0=rank(0, stage(0, ("send", 200), numbers=numbers)),
            r1=rank(1, stage(5, ("recv", 200), ("send", 205), numbers=numbers)),
            r2=rank(2, stage(3, ("recv", 205), numbers=numbers)),
        )
        assert house.rows(
            "select collective_name, sequence, matched_by, count(*), max(wait_ns) from marts.collective_skew"
            " group by all order by all"
        ) == [("allreduce", n + numbers, "sequence" if numbers else "place", 3, 5) for n in (0, 1)]
        counts = "select run_id, collective_count, matched_count from marts.rank_clock order by 1"
        assert house.rows(counts) == [("r0", 3, 2), ("r1", 4, 2), ("r2", 3, 2)]


def test_two_recordings_of_one_rank_are_not_two_ranks():
    def twice(start, **known):
        return [collective("allreduce", start, 50, **known), collective("allreduce", start + 100, 50, **known)]

    for known in ({}, {"seq": 7}):
        house = views(first=rank(0, twice(100, **known)), second=rank(0, twice(105, **known)))
        assert house.rows(SKEW) == []


def test_of_two_executions_under_one_label_what_overlaps_is_the_same():
    def execution(start):
        return [collective("allreduce", start, 50, seq=7), collective("allreduce", start + 100, 50, seq=8)]

    house = views(
        monday0=rank(0, execution(100)),
        monday1=rank(1, execution(110)),
        tuesday0=rank(0, execution(9000)),
        tuesday1=rank(1, execution(9003)),
    )
    assert house.rows(
        "select run_id, matched_by, rank_count, start_skew_ns, count(*) from marts.collective_skew"
        " group by all order by 1"
    ) == [
        ("monday0", "overlap", 2, 10, 2),
        ("monday1", "overlap", 2, 10, 2),
        ("tuesday0", "overlap", 2, 3, 2),
        ("tuesday1", "overlap", 2, 3, 2),
    ]


def test_the_bandwidth_is_over_the_transfer_alone():
    house = views(
        r0=rank(0, collective("allreduce", 100, 3000, sent=1000)),
        r1=rank(1, collective("allreduce", 1100, 2000, sent=1000)),
    )
    sql = "select algorithm_bytes, algorithm_bandwidth from marts.collective_skew where run_id = 'r0'"
    assert house.one(sql) == (4000, 2e9)


def test_a_rank_that_ends_before_the_last_one_starts_has_no_bandwidth():
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, sent=1000)),
        r1=rank(1, collective("allreduce", 200, 10, sent=1000)),
    )
    assert house.one("select algorithm_bandwidth from marts.collective_skew where run_id = 'r0'") == (None,)


# -- what is the same collective ------------------------------------------------------------------------------

MATCHES = (
    "select run_id, sequence, collective_name, matched_by, is_consistent, wait_ns"
    " from marts.collective_skew order by 2, 3, 1"
)


def plain(kind, start, duration):
    """A collective without any number."""
    return kernel(f"ncclDevKernel_{kind}", start, duration)


def test_the_place_matches_only_where_all_ranks_have_the_same_sequence_of_kinds():
    def three(shift, *kinds):
        return [plain(kind, 100 * place + shift, 50) for place, kind in enumerate(kinds)]

    same = ("AllReduce", "Broadcast", "AllReduce")
    house = views(r0=rank(0, three(0, *same)), r1=rank(1, three(5, *same)), r2=rank(2, three(9, *same)))
    assert house.rows("select distinct matched_by, rank_count from marts.collective_skew") == [("place", 3)]
    # The third rank missed the first: by place, its second would be the others' second.
    late = [plain("Broadcast", 109, 50), plain("AllReduce", 209, 50)]
    house = views(r0=rank(0, three(0, *same)), r1=rank(1, three(5, *same)), r2=rank(2, late))
    assert house.rows(
        "select sequence, collective_name, matched_by, count(*) from marts.collective_skew group by all order by all"
    ) == [
        (0, "allreduce", "overlap", 2),
        (0, "broadcast", "overlap", 3),
        (1, "allreduce", "overlap", 3),
    ]


def test_the_place_matches_only_where_sizes_agree():
    def sized(shift, *sizes):
        return [collective("allreduce", 100 * place + shift, 50, sent=size) for place, size in enumerate(sizes)]

    house = views(r0=rank(0, sized(0, 8, 4)), r1=rank(1, sized(9, 8, 4)))
    assert house.rows("select distinct matched_by from marts.collective_skew") == [("place",)]
    house = views(r0=rank(0, sized(0, 8, 4)), r1=rank(1, sized(9, 4, 8)))
    assert house.rows("select distinct matched_by from marts.collective_skew") == [("overlap",)]


def test_an_uneven_all_to_all_has_another_size_on_every_rank():
    def exchange(start, sent):
        args = {
            "Collective name": "all_to_allv",
            "In msg nelems": sent,
            "dtype": "Byte",
            "In split size": f"[{sent}, 0]",
        }
        return kernel("ncclDevKernel_SendRecv", start, 50, args=args)

    house = views(r0=rank(0, exchange(100, 10)), r1=rank(1, exchange(110, 30)))
    assert house.rows("select run_id, matched_by, size_imbalance from marts.collective_skew order by 1") == [
        ("r0", "place", 1.5),
        ("r1", "place", 1.5),
    ]


def test_a_match_by_place_in_which_a_rank_left_before_the_last_came_has_no_times():
    house = views(r0=rank(0, plain("AllReduce", 100, 50)), r1=rank(1, plain("AllReduce", 200, 50)))
    assert (
        house.rows(
            "select matched_by, is_consistent, start_skew_ns, end_skew_ns, wait_ns, transfer_ns, is_last_to_arrive,"
            " algorithm_bandwidth from marts.collective_skew"
        )
        == [("place", False, None, None, None, None, None, None)] * 2
    )


def test_a_rank_that_ends_exactly_when_the_last_one_starts_is_consistent():
    house = views(
        r0=rank(0, collective("allreduce", 100, 50, sent=1000, seq=1)),
        r1=rank(1, collective("allreduce", 150, 30, sent=1000, seq=1)),
    )
    assert house.rows(
        "select run_id, is_consistent, wait_ns, transfer_ns, algorithm_bandwidth is null"
        " from marts.collective_skew order by 1"
    ) == [
        ("r0", True, 50, 0, True),
        ("r1", True, 0, 30, False),
    ]
    clocks = "select run_id, consistent_count, clock_match_count, clock_offset_ns from marts.rank_clock order by 1"
    assert house.rows(clocks) == [("r0", 1, 1, 0), ("r1", 1, 1, 30)]
    house = views(
        r0=rank(0, collective("allreduce", 100, 49, seq=1)), r1=rank(1, collective("allreduce", 150, 30, seq=1))
    )
    assert house.rows("select distinct is_consistent from marts.collective_skew") == [(False,)]
    assert house.rows(clocks) == [("r0", 0, 0, None), ("r1", 0, 0, None)]


def test_overlapping_ones_match_at_most_one_a_rank_and_at_a_moment_common_to_all():
    #        100       150       200       250       300
    # rank 0  ├─ AR ─┤   ├──── AR ────┤       ├─ AG ─┤
    # rank 1     ├─ AR ──┤ touches the second   ├─ AG ┤
    house = views(
        r0=rank(0, plain("AllReduce", 100, 30), plain("AllReduce", 150, 50), plain("AllGather", 250, 30)),
        r1=rank(1, plain("AllReduce", 110, 40), plain("AllGather", 255, 30)),
    )
    assert house.rows(MATCHES) == [
        ("r0", 0, "allgather", "overlap", True, 5),
        ("r1", 0, "allgather", "overlap", True, 0),
        ("r0", 0, "allreduce", "overlap", True, 10),
        ("r1", 0, "allreduce", "overlap", True, 0),
    ]
    # One of rank 1 that overlaps two of rank 0 is neither; nor are three in a row that no moment has in common.
    house = views(
        r0=rank(0, plain("AllReduce", 100, 30), plain("AllReduce", 150, 50)), r1=rank(1, plain("AllReduce", 110, 60))
    )
    assert house.rows(MATCHES) == []
    house = views(
        r0=rank(0, plain("AllReduce", 100, 30), plain("Broadcast", 500, 1)),
        r1=rank(1, plain("AllReduce", 120, 50)),
        r2=rank(2, plain("AllReduce", 160, 50)),
    )
    assert house.rows(MATCHES) == []
    assert house.rows("select distinct matched_by, match_number from intermediate.int_collective_match") == [
        (None, None)
    ]
    assert house.rows("select run_id, collective_count, matched_count from marts.rank_clock order by 1") == [
        ("r0", 2, 0),
        ("r1", 1, 0),
        ("r2", 1, 0),
    ]


def test_groups_of_one_name_with_other_ranks_are_other_groups():
    def of(ranks, start):
        args = {"Collective name": "allreduce", "Process Group Name": "tp", "Process Group Ranks": ranks, "Seq": 4}
        return kernel("ncclDevKernel", start, 50, args=args)

    house = views(
        r0=rank(0, of("[0, 1]", 100)),
        r1=rank(1, of("[0, 1]", 105)),
        r2=rank(2, of("[2, 3]", 300)),
        r3=rank(3, of("[2, 3]", 307)),
    )
    assert house.pairs("select run_id, (rank_count, start_skew_ns) from marts.collective_skew") == {
        "r0": (2, 5), "r1": (2, 5), "r2": (2, 7), "r3": (2, 7),
    }  # fmt: skip


def test_a_group_without_a_name_is_known_by_its_ranks():
    args = {"Collective name": "allreduce", "Process Group Ranks": "[0, 1]", "Seq": 4}
    house = views(r0=rank(0, kernel("x", 100, 50, args=args)), r1=rank(1, kernel("x", 105, 50, args=args)))
    assert house.rows("select process_group, rank_count from marts.collective_skew") == [("[0, 1]", 2)] * 2


def test_a_coalesced_group_shares_a_number_and_its_kinds_are_in_their_own_order():
    def coalesced(shift):
        return [
            collective("allgather_into_tensor_coalesced", 100 + shift, 20, seq=7),
            collective("reduce_scatter_tensor_coalesced", 130 + shift, 20, seq=7),
            collective("allgather_into_tensor_coalesced", 160 + shift, 20, seq=7),
            collective("allreduce", 190 + shift, 20, seq=8),
        ]

    house = views(r0=rank(0, coalesced(0)), r1=rank(1, coalesced(4)), r2=rank(2, coalesced(1)))
    assert house.rows(
        "select collective_name, sequence, place, wait_ns from marts.collective_skew"
        " where run_id = 'r0' order by 1, 2, 3"
    ) == [("allgather", 7, 0, 4), ("allgather", 7, 1, 4), ("allreduce", 8, 0, 4), ("reducescatter", 7, 0, 4)]


# -- clocks ---------------------------------------------------------------------------------------------------


def test_the_reference_is_the_lowest_rank_and_one_that_leaves_late_once_does_not_move_a_clock():
    def at(late):
        return [collective("allreduce", 1000 * place, 50 + by, seq=place) for place, by in enumerate(late)]

    house = views(a=rank(2, at([3, 4, 90])), b=rank(1, at([0, 0, 0])), c=rank(None, at([1, 1, 1])))
    clocks = "select run_id, reference_run_id, clock_match_count, clock_offset_ns from marts.rank_clock order by 1"
    assert house.rows(clocks) == [("a", "b", 3, 4), ("b", "b", 3, 0), ("c", "b", 3, 1)]


def test_each_of_a_coalesced_group_is_held_against_its_own():
    house = views(
        r0=rank(0, [collective("allreduce", at, 20, seq=7) for at in (100, 200, 300)]),
        r1=rank(1, [collective("allreduce", at, 25, seq=7) for at in (100, 200, 300)]),
    )
    clocks = "select run_id, matched_count, clock_match_count, clock_offset_ns from marts.rank_clock order by 1"
    assert house.rows(clocks) == [("r0", 3, 3, 0), ("r1", 3, 3, 5)]


def test_the_offset_of_a_clock_is_the_median_over_collectives_that_all_leave_together():
    # Ends of rank 1 are 3 and 9 later. A broadcast, which its root may leave early, tells nothing; nor does the one to
    # which rank 2 came when the others had left.
    house = views(
        r0=rank(
            0,
            [collective("allreduce", at, 50, seq=at) for at in (100, 200, 300)],
            collective("broadcast", 400, 50, seq=400),
        ),
        r1=rank(
            1,
            [collective("allreduce", at, 50 + late, seq=at) for at, late in ((100, 3), (200, 9), (300, 4))],
            collective("broadcast", 400, 90, seq=400),
        ),
        r2=rank(2, collective("allreduce", 900, 50, seq=300)),
        alone=rank(0, collective("allreduce", 100, 50, seq=1), label="another job"),
    )
    assert house.rows(
        "select run_id, reference_run_id, collective_count, matched_count, consistent_count, clock_match_count,"
        " clock_offset_ns from marts.rank_clock order by 1"
    ) == [
        ("r0", "r0", 4, 4, 3, 2, 0),
        ("r1", "r0", 4, 4, 3, 2, 6),
        ("r2", "r0", 1, 1, 0, 0, None),
    ]
