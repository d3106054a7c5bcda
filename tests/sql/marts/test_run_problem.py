"""Runs, their status and what is wrong with their data: stg_run, stg_problem, run, problem."""

from __future__ import annotations

import pytest

from pipeline.schema import PROBLEM_KINDS
from tests.support.events import about, event, kernel, memory, op, problem, step
from tests.support.views import views


@pytest.mark.parametrize(
    ("rows", "status", "count"),
    [
        ([kernel("a", 10, 5)], "complete", 0),
        ([problem("truncated", 1)], "incomplete", 1),
        ([problem("truncated", 1), problem("event_dropped", 3)], "incomplete", 4),
        ([problem("envelope_cut", 1)], "incomplete", 1),
        ([problem("event_dropped", 3)], "salvaged", 3),
        # What a profile does not have was not lost.
        ([problem("empty_table"), problem("missing_table", 2)], "complete", 3),
        ([op("a", 10, None)], "salvaged", 1),
        ([problem("text_repaired", 2), problem("non_finite", 5)], "salvaged", 7),
        ([kernel("a", 10, 5), kernel("b", 20, None), kernel("c", None, 5)], "salvaged", 2),
        ([kernel("b", 20, None), problem("text_repaired", 2)], "salvaged", 3),
        ([op("a", 10, None), op("b", 20, -1), kernel("c", 20, None)], "salvaged", 3),
        # A suspect is flagged, and nothing was mended, dropped or set aside.
        ([kernel("a", 10, 50), kernel("b", 20, 5)], "complete", 0),
    ],
)
def test_the_status_of_a_run(rows, status, count):
    assert views(rows).one("select status, problem_count from marts.run") == (status, count)


def test_a_run_has_what_is_known_of_it_and_the_counts_of_its_content():
    house = views(
        about(label="job", rank=3, world_size=8, device_name="NVIDIA H100", base_time_ns=77, event_count=9),
        step(1, 0, 100),
        step(2, 100, 100),
        op("aten::mm", 0, 10),
        kernel("a", 10, 5),
        kernel("b", 10, 5, device=1),
        memory(64, at=5),
    )
    assert house.one(
        "select run_id, label, rank, world_size, device_name, base_time_ns, event_count, device_count, step_count,"
        " device_activity_count, host_call_count, memory_event_count from marts.run"
    ) == ("run", "job", 3, 8, "NVIDIA H100", 77, 9, 2, 2, 2, 1, 1)


def test_staging_keeps_runs_and_problems_as_recorded():
    house = views(about(label="job", rank=3, source_format="kineto"), problem("non_finite", 3, 17, "NaN", 1234))
    assert house.rows("select run_id, label, rank, world_size, source_format from staging.stg_run") == [
        ("run", "job", 3, None, "kineto")
    ]
    assert house.rows("select * from staging.stg_problem") == [("run", "non_finite", 3, 17, 1234, "NaN")]


def test_an_empty_run_has_a_row_of_zeros_and_runs_are_apart():
    house = views(v1=[kernel("a", 10, None), problem("truncated")], v2=[])
    columns = "device_count, step_count, device_activity_count, host_call_count, memory_event_count, problem_count"
    assert house.rows(f"select run_id, status, {columns} from marts.run order by 1") == [
        ("v1", "incomplete", 0, 0, 0, 0, 0, 2),
        ("v2", "complete", 0, 0, 0, 0, 0, 0),
    ]


def test_problems_met_while_reading_are_kept_as_they_are():
    house = views(problem("event_dropped", 3, 17, "Expecting value", 99), problem("truncated", 1))
    assert house.rows("select kind, problem_count, event_index, byte_offset, detail from marts.problem order by 1") == [
        ("event_dropped", 3, 17, 99, "Expecting value"),
        ("truncated", 1, None, None, None),
    ]


def test_every_quarantined_activity_has_a_row_with_its_name_and_the_reason():
    house = views(kernel("good", 10, 5), kernel("a", 20, None), kernel("b", 30, -2), kernel(None, None, 5))
    assert house.rows("select kind, problem_count, event_index, detail from marts.problem order by 3") == [
        ("no_time", 1, 1, "a: no duration"),
        ("no_time", 1, 2, "b: negative duration"),
        ("no_time", 1, 3, ": no start"),
    ]


def test_host_calls_without_a_usable_time_are_one_row_with_their_number_and_the_first():
    # by what they are (operator, annotation, marker, runtime, function, synchronization), and by what their time lacks
    house = views(
        op("fine", 0, 10),
        op("aten::lost", 10, None),
        event("user_annotation", "ProfilerStep#3", 10, -5),
        event("cuda_runtime", "cudaLaunchKernel", None, 5),
        event("python_function", "f", 10, None),
        event("cuda_sync", "Stream Sync", 10, -1),
        event("gpu_user_annotation", "region", 10, None),
        event("cpu_op", "an instant", 10, None, phase="i"),
        event("ac2g", "flow", 10, None, phase="s"),
        event("other", "unknown", 10, None),
    )
    assert house.rows("select kind, problem_count, event_index, detail from marts.problem order by event_index") == [
        ("untimed_call", 6, 1, "aten::lost: no duration"),
        ("not_understood", 1, 9, "category other"),
    ]
    reasons = ("no duration", "negative duration", "no start", "no duration", "negative duration", "no duration")
    found = house.rows("select reason from staging.stg_untimed_call order by event_index")
    assert found == [(reason,) for reason in reasons]


def test_every_stream_with_suspects_has_a_row_with_their_number_and_the_first():
    # stream 7   ├── a ───────┤
    #                ├── b ───────┤
    #                      ├ c ┤
    # stream 8   ├── d ───────┤
    #                ├ e ┤
    # and the same on other devices: f, g
    house = views(
        kernel("a", 10, 20),
        kernel("b", 15, 20),
        kernel("c", 25, 5),
        kernel("d", 10, 20, stream=8),
        kernel("e", 15, 5, stream=8),
        kernel("f", 10, 20, stream=7, device=1),
        kernel("ff", 12, 20, stream=7, device=1),
        kernel("g", 10, 20, stream=None, tid="x", device=2),
        kernel("h", 15, 20, stream=None, tid="x", device=2),
    )
    assert house.rows("select kind, problem_count, event_index, detail from marts.problem order by 3") == [
        ("overlap", 2, 0, "on stream 7, the first is a"),
        ("overlap", 1, 3, "on stream 8, the first is d"),
        ("overlap", 1, 5, "on stream 7, the first is f"),
        ("overlap", 1, 7, "on stream unknown, the first is g"),
    ]


def test_every_kind_of_problem_that_the_views_add_is_explained():
    house = views(kernel("a", 10, None), kernel("b", 10, 20), kernel("c", 15, 20), op("d", 5, None))
    kinds = {kind for (kind,) in house.rows("select kind from marts.problem")}
    assert kinds == {"no_time", "overlap", "untimed_call"}
    assert kinds <= set(PROBLEM_KINDS)


def test_runs_are_numbered_by_id_from_1_on():
    house = views(v2=[op("a", 0, 10)], v1=[], v3=[op("a", 0, 10)])
    assert house.pairs("select run_id, run_number from intermediate.int_run_number") == {"v1": 1, "v2": 2, "v3": 3}


def test_calls_of_runs_that_share_thread_ids_stay_apart():
    house = views(v1=[op("outer", 0, 100)], v2=[op("inner", 10, 10)])
    assert house.pairs("select run_id, parent_index from intermediate.int_call_walk") == {"v1": None, "v2": None}
