"""Collectives across the ranks of one execution: collective_skew."""

from __future__ import annotations

from tests.rows import about, catalog, collective, kernel, views

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


def test_collectives_match_by_group_and_sequence_never_by_time():
    # Sequence 7 of rank 1 runs while rank 0 is in sequence 8.
    house = views(
        r0=rank(0, collective("allreduce", 100, 10, seq=7), collective("allreduce", 200, 10, seq=8)),
        r1=rank(1, collective("allreduce", 200, 10, seq=7), collective("allreduce", 300, 10, seq=8)),
    )
    sql = "select sequence, run_id, wait_ns from marts.collective_skew order by all"
    assert house.rows(sql) == [(7, "r0", 100), (7, "r1", 0), (8, "r0", 100), (8, "r1", 0)]


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
