"""Given inputs about communication, each with the outcome of its `expected.md`."""

from __future__ import annotations

import pipeline
from tests.support.asking import overall, pairs, rows
from tests.support.paths import CASES, SHARED, needs_shared

pytestmark = needs_shared
KINDS = (
    "select collective_name, sum(total_duration_ns)::bigint from marts.communication"
    " where run_id = '{}' and step is null group by 1"
)


def ingest(house, case, name):
    source = next(CASES.glob(f"{case}-*")) / name
    pipeline.ingest(source, label=source.stem.split(".")[0], warehouse=house)


def kinds(house, run):
    return pairs(house, KINDS.format(run))


def test_09_two_annotations_add_nothing_and_the_rest_is_told_by_metadata_then_by_name(tmp_path):
    ingest(tmp_path, "09", "input.json")
    assert kinds(tmp_path, "input") == {
        "allreduce": 30_000,
        "allgather": 20_000,
        "reducescatter": 10_000,
        "unknown": 10_000,
    }


def test_17_two_ranks_meet_by_their_sequence_numbers(tmp_path):
    for name in ("input.json", "second.json"):
        pipeline.ingest(next(CASES.glob("17-*")) / name, label="job", warehouse=tmp_path)
    matched = rows(tmp_path, "select distinct matched_by, is_consistent, end_skew_ns from marts.collective_skew")
    assert matched == [{"matched_by": "sequence", "is_consistent": True, "end_skew_ns": 0}]
    assert rows(
        tmp_path, "select rank, clock_offset_ns as off, matched_count as n from marts.rank_clock order by 1"
    ) == [
        {"rank": 0, "off": 0, "n": 2},
        {"rank": 1, "off": 0, "n": 2},
    ]


def test_101_phases_of_expert_parallelism_are_apart(tmp_path):
    for name in ("a.json", "b.json", "dpsk.json"):
        ingest(tmp_path, "101", name)
    figures = overall(tmp_path, "a")
    assert [figures[m] for m in ("Communication Time", "Computing Time", "E2E Time", "Free Time")] == [
        150_000, 50_000, 340_000, 140_000,
    ]  # fmt: skip
    assert kinds(tmp_path, "a") == {"dispatch": 100_000, "combine": 40_000, "notify": 10_000}
    assert pairs(
        tmp_path,
        "select collective_name, diff_total_duration_ns from marts.communication_comparison"
        " where base_run_id = 'a' and comparison_run_id = 'b' and base_step is null and comparison_step is null",
    ) == {"dispatch": -40_000, "combine": 40_000, "notify": 0}
    figures = overall(tmp_path, "dpsk")
    assert (figures["Uncovered Communication Time"], figures["Computing Time"]) == (145_000, 50_000)
    assert kinds(tmp_path, "dpsk") == {"dispatch": 100_000, "combine": 40_000, "notify": 5_000}


def test_103_copies_that_carry_an_all_gather_are_one(tmp_path):
    for name in ("a.json", "sm.json"):
        ingest(tmp_path, "103", name)
    figures = overall(tmp_path, "a")
    assert [
        figures[m]
        for m in ("E2E Time", "Computing Time", "Communication Time", "Uncovered Communication Time", "SDMA", "Free")
    ] == [250_000, 200_000, 200_000, 50_000, 0, 0]
    told = (
        "select run_id, collective_name, call_count, total_duration_ns, input_bytes, output_bytes"
        " from marts.communication order by 1"
    )
    assert [tuple(row.values()) for row in rows(tmp_path, told)] == [
        ("a", "allgather", 1, 200_000, 2 * 1_048_576, 2 * 8_388_608),
        ("sm", "allgather", 1, 200_000, 2 * 1_048_576, 2 * 8_388_608),
    ]


def test_120_a_coalesced_group_shares_a_number_and_matches_by_order(tmp_path):
    pipeline.ingest(next(CASES.glob("120-*")) / "r", label="job", warehouse=tmp_path)
    skew = (
        "select place, rank, sequence, start_skew_ns, wait_ns, transfer_ns, rank_count"
        " from marts.collective_skew order by 1, 2"
    )
    assert [tuple(row.values()) for row in rows(tmp_path, skew)] == [
        (place, rank, 7, 5_000, 5_000 - 5_000 * rank, 15_000 + 5_000 * rank, 2)
        for place in range(3)
        for rank in range(2)
    ]


def test_128_kernels_of_oneccl_and_what_record_param_comms_launches_communicate(tmp_path):
    ingest(tmp_path, "128", "a.json")
    figures = overall(tmp_path, "a")
    assert [figures[m] for m in ("Computing Time", "Communication Time", "E2E Time")] == [100_000, 80_000, 180_000]


def test_two_real_ranks_match_by_overlap_alone(tmp_path):
    for rank in (0, 1):
        pipeline.ingest(SHARED / "traces" / f"two-ranks-{rank}.a100.json.gz", label="job", warehouse=tmp_path)
    skew = rows(tmp_path, "select * from marts.collective_skew where rank = 0 order by collective_name, sequence")
    assert {row["matched_by"] for row in skew} == {"overlap"}
    assert all(row["is_consistent"] for row in skew)
    assert [(row["collective_name"], row["start_skew_ns"], row["end_skew_ns"], row["wait_ns"]) for row in skew] == [
        ("allgather", 84_000, 332_000, 84_000),
        ("allgather", 1_292_000, 189_000, 1_292_000),
        ("allreduce", 3_302_000, 55_000, 3_302_000),
        ("allreduce", 22_328_000, 8_000, 22_328_000),
        ("alltoall", 4_859_000, 0, 4_859_000),
    ]
    unmatched = rows(tmp_path, "select sum(collective_count - matched_count)::bigint as n from marts.rank_clock")
    assert unmatched == [{"n": 10}]


def test_a_real_trace_whose_kernels_share_one_symbol_has_the_kinds_of_its_annotations(tmp_path):
    pipeline.ingest(SHARED / "traces" / "dlrm-control.a100.json.gz", label="dlrm", warehouse=tmp_path)
    counts = "select collective_name, sum(call_count)::bigint from marts.communication where step is null group by 1"
    assert pairs(tmp_path, counts) == {"alltoall": 42, "allreduce": 18}
