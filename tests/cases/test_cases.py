"""Given broken and unusual inputs, each with the outcome that was worked out by hand in its `expected.md`.

Numbers are in nanoseconds. The same kinds of fault are tested on inputs of our own in `test_hostile.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

import pipeline
from pipeline.errors import InputError
from pipeline.render.units import measures
from pipeline.render.workbook import xlsx
from tests.support.asking import overall, pairs, rows
from tests.support.paths import CASES, needs_shared

pytestmark = needs_shared


def ingest(house: Path, case: str, name: str = "input.json", label: str | None = None, strict: bool = False):
    source = next(CASES.glob(f"{case}-*")) / name
    (run,) = pipeline.ingest(
        source, label=label or source.stem.split(".")[0], warehouse=house, options=pipeline.ReadOptions(strict=strict)
    )
    return run


def test_01_non_finite_literals_become_null_and_are_counted(tmp_path):
    run = ingest(tmp_path, "01")
    figures = overall(tmp_path, "input")
    assert [figures[m] for m in ("E2E Time", "Computing Time", "Free", "Free Time", "SDMA")] == [
        17_000,
        10_000,
        7_000,
        7_000,
        0,
    ]
    assert [p.split(" ")[0] for p in run.problems] == ["5"]
    copies = rows(
        tmp_path,
        "select duration_ns, bytes, args->>'memory bandwidth (GB/s)' as bandwidth"
        " from raw.event where category = 'gpu_memcpy'",
    )
    assert copies == [{"duration_ns": 0, "bytes": 200, "bandwidth": None}]
    assert rows(tmp_path, "select count(*) as n from raw.event") == [{"n": 5}]
    assert rows(tmp_path, "select status from marts.run") == [{"status": "salvaged"}]


def test_03_bad_bytes_become_replacement_characters(tmp_path):
    run = ingest(tmp_path, "03")
    names = [row["name"] for row in rows(tmp_path, "select name from raw.event order by event_index")]
    assert names[0].count("\ufffd") >= 3
    assert names[1] == "config.py(0): \x01\x1f"
    assert names[2] == "模型.py(3): 前向"
    assert names[3] == "tag \ufffd end"
    assert pairs(tmp_path, "select kernel_name, total_duration_ns from marts.kernel where step is null") == {
        "gemm": 6_000
    }
    assert [p.split(" ")[0] for p in run.problems] == ["3"]


@pytest.mark.parametrize("name", ["input.json", "second.json.gz"])
def test_04_a_cut_file_keeps_its_complete_events(tmp_path, name):
    run = ingest(tmp_path, "04", name, label="cut")
    assert len(run.problems) == 1
    figures = overall(tmp_path, "cut")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (15_000, 20_000, 5_000)
    assert rows(tmp_path, "select status, event_count from marts.run") == [{"status": "incomplete", "event_count": 4}]
    assert (
        pairs(tmp_path, "select operator_name, device_duration_ns from marts.operator where step is null")["aten::mm"]
        == 10_000
    )
    with pytest.raises(InputError, match="--strict"):
        ingest(tmp_path / "strict", "04", name, strict=True)


@pytest.mark.parametrize("name", ["third_two_members.json.gz", "fourth_is_gzip_named.json"])
def test_04_gzip_members_follow_one_another_whatever_the_name(tmp_path, name):
    run = ingest(tmp_path, "04", name, label="whole")
    assert run.problems == ()
    figures = overall(tmp_path, "whole")
    assert (figures["Computing Time"], figures["E2E Time"]) == (23_000, 41_000)
    assert rows(tmp_path, "select status, event_count from marts.run") == [{"status": "complete", "event_count": 6}]
    assert (
        pairs(tmp_path, "select operator_name, device_duration_ns from marts.operator where step is null")["aten::mm"]
        == 10_000
    )


def test_06_nanoseconds_are_exact(tmp_path):
    ingest(tmp_path, "06")
    starts = rows(
        tmp_path, "select name, start_ns, duration_ns from raw.event where category = 'kernel' order by start_ns"
    )
    assert [tuple(row.values()) for row in starts] == [
        ("k_a", 1736413971558972912, 185),
        ("k_b", 1736413971558973097, 750),
        ("k_c", 1736413971558973911, 64),
    ]
    figures = overall(tmp_path, "input")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (999, 1_063, 64)


def test_08_old_and_new_category_names_are_the_same(tmp_path):
    for name in ("input.json", "second.json"):
        ingest(tmp_path, "08", name)
    for run in ("input", "second"):
        figures = overall(tmp_path, run)
        assert [figures[m] for m in ("Computing Time", "SDMA", "E2E Time", "Free", "Free Time")] == [
            20_000, 11_000, 81_000, 50_000, 61_000,
        ]  # fmt: skip
        where = f"where run_id = '{run}' and step is null"
        assert pairs(tmp_path, f"select operator_name, device_duration_ns from marts.operator {where}") == {
            "aten::mm": 20_000,
            "aten::copy_": 10_000,
            "aten::zero_": 1_000,
        }
        assert pairs(
            tmp_path, f"select call_name, total_duration_ns from marts.host_call {where} and call_kind = 'runtime'"
        ) == {
            "cudaLaunchKernel": 5_000,
            "cudaMemcpyAsync": 4_000,
            "cudaMemsetAsync": 2_000,
        }
    result = pipeline.compare("input", "second", warehouse=tmp_path)
    for table in result.tables.values():
        for row in table.rows.to_pylist():
            assert not any(value for name, value in row.items() if name.startswith("diff_")), (table.view.name, row)
            for measure in measures(table.view):
                assert (row[measure.base.name] is None) == (row[measure.comparison.name] is None), (
                    table.view.name,
                    row,
                )
    streams = rows(tmp_path, "select distinct stream from intermediate.int_device_activity")
    assert streams == [{"stream": 7}]


def test_09_collectives_are_told_by_metadata_then_by_name(tmp_path):
    ingest(tmp_path, "09")
    figures = overall(tmp_path, "input")
    assert figures["Uncovered Communication Time"] == 70_000
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (10_000, 150_000, 70_000)
    assert pairs(
        tmp_path,
        "select collective_name, sum(total_duration_ns)::bigint from marts.communication where step is null group by 1",
    ) == {"allreduce": 30_000, "allgather": 20_000, "reducescatter": 10_000, "unknown": 10_000}
    sizes = rows(tmp_path, "select input_bytes, output_bytes from intermediate.int_collective order by start_ns")
    assert [tuple(row.values()) for row in sizes] == [
        (None, None), (None, None), (None, None), (2_048, 16_384), (400, 400), (None, None), (None, None),
    ]  # fmt: skip
    rules = pairs(tmp_path, "select kernel_name, class_rule from marts.kernel where kernel_name like '%cross_device%'")
    assert set(rules.values()) == {"name contains cross_device_reduce"}


def test_10_rows_on_device_tracks_that_are_no_activities_never_count(tmp_path):
    ingest(tmp_path, "10")
    figures = overall(tmp_path, "input")
    assert figures["Computing Time"] == 20_000
    assert figures["Communication Time"] == 20_000
    assert figures["Uncovered Communication Time"] == 15_000
    assert figures["Overlapped Communication"] == 5_000
    assert (figures["E2E Time"], figures["Free"], figures["Free Time"]) == (60_000, 25_000, 25_000)
    assert pairs(tmp_path, "select synchronization_name, total_duration_ns from marts.synchronization") == {
        "Stream Sync": 40_000,
        "Context Sync": 60_000,
        "Stream Wait Event": 0,
    }


def test_14_zero_is_no_correlation(tmp_path):
    ingest(tmp_path, "14")
    operators = rows(
        tmp_path,
        "select operator_name, device_activity_count as n, device_duration_ns as t"
        " from marts.operator where step is null",
    )
    assert {row["operator_name"]: (row["n"], row["t"]) for row in operators} == {
        "aten::mm": (1, 12_000),
        "aten::relu": (1, 3_000),
        "aten::item": (0, 0),
        "record_param_comms": (0, 0),
        "(no launch in the trace)": (2, 100_000),
    }
    figures = overall(tmp_path, "input")
    assert figures["Computing Time"] == 15_000
    assert figures["Communication Time"] == 100_000
    assert (figures["E2E Time"], figures["Free"]) == (170_000, 55_000)


def test_16_a_step_has_what_it_launched_and_averages_are_over_complete_steps(tmp_path):
    for name in ("input.json", "second.json"):
        ingest(tmp_path, "16", name)
    steps = rows(tmp_path, "select * from marts.step where run_id = 'input' order by step")
    assert [(s["step"], s["device_activity_count"], s["device_duration_ns"], s["is_complete"]) for s in steps] == [
        (10, 2, 13_000, False),
        (11, 3, 23_000, True),
        (12, 3, 24_000, True),
    ]
    assert [s["duration_ns"] for s in steps] == [100_000, 110_000, 90_000]
    assert [s["duration_with_tail_ns"] for s in steps] == [100_000, 110_000, 110_000]
    result = pipeline.compare("input", "second", warehouse=tmp_path)
    average = {row["metric"]: row for row in result.tables["step_comparison"].rows.to_pylist()}
    device = average["Device Time"]
    assert (device["base_average_duration_ns"], device["comparison_average_duration_ns"]) == (23_500, 33_000)
    assert device["diff_average_duration_ns"] == 9_500
    assert device["ratio_average_duration_ns"] == pytest.approx(1.404, abs=0.0005)
    length = average["Step Length"]
    assert (length["base_average_duration_ns"], length["comparison_average_duration_ns"]) == (100_000, 120_000)
    headline = result.tables["headline_comparison"].rows.to_pylist()
    assert {row["scope"] for row in headline} == {"average complete step"}
    assert any("3 and 1 steps" in note for note in result.notes)


def test_17_collectives_of_two_ranks_meet_on_one_clock(tmp_path):
    for name in ("input.json", "second.json"):
        ingest(tmp_path, "17", name, label="job")
    skew = rows(tmp_path, "select * from marts.collective_skew order by sequence, rank")
    assert [(r["sequence"], r["rank"], r["start_skew_ns"], r["wait_ns"], r["transfer_ns"]) for r in skew] == [
        (0, 0, 70_000, 70_000, 30_000),
        (0, 1, 70_000, 0, 30_000),
        (1, 0, 5_000, 0, 50_000),
        (1, 1, 5_000, 5_000, 50_000),
    ]
    assert [r["is_last_to_arrive"] for r in skew] == [False, True, True, False]
    assert [round(r["algorithm_bandwidth"] / 1e9, 3) for r in skew] == [33.333, 33.333, 20.0, 20.0]
    assert {r["algorithm_bytes"] for r in skew} == {1_000_000}
    totals = rows(
        tmp_path, "select run_id, total_duration_ns as t from marts.communication where step is null order by 1"
    )
    assert [r["t"] for r in totals] == [150_000, 85_000]
    assert pairs(tmp_path, "select rank, sum(wait_ns)::bigint from marts.collective_skew group by 1") == {
        0: 70_000,
        1: 5_000,
    }
    assert rows(tmp_path, "select max(base_time_ns + end_ns) - min(base_time_ns + start_ns) as span from marts.run "
                          "join intermediate.int_collective using (run_id)") == [{"span": 250_000}]  # fmt: skip


def test_06_the_ascend_twin_with_times_as_text_is_the_same_to_the_nanosecond(tmp_path):
    ingest(tmp_path, "06", label="gpu")
    ingest(tmp_path, "06", "second_ascend", label="npu")
    starts = [1736413971558972912, 1736413971558973097, 1736413971558973911]
    for run in ("gpu", "npu"):
        found = rows(
            tmp_path,
            "select activity_name, start_ns, duration_ns from intermediate.int_device_activity"
            f" where run_id = '{run}' order by start_ns",
        )
        assert [(row["start_ns"], row["duration_ns"]) for row in found] == list(
            zip(starts, (185, 750, 64), strict=True)
        )
        figures = overall(tmp_path, run)
        assert [figures[metric] for metric in ("Computing Time", "E2E Time", "Free")] == [999, 1063, 64]
    table = pipeline.compare("gpu", "npu", warehouse=tmp_path).tables["overall_comparison"].rows.to_pylist()
    totals = [row for row in table if row["metric"] in ("E2E Time", "Computing Time", "SDMA", "Free")]
    assert [row["diff_duration_ns"] for row in totals] == [0, 0, 0, 0]


def test_12_ascend_csv_with_nothing_in_many_ways(tmp_path):
    run = ingest(tmp_path, "12", "", label="csv")
    assert run.problems == ("1 × files that such a profile should have are missing: trace_view.json",)
    found = rows(tmp_path, "select * from raw.kernel_detail order by event_index")
    assert sum(row["duration_ns"] for row in found) == 719_875
    assert [row["block_count"] for row in found] == [16, 16, 8, None, None, 1]
    assert [row["wait_ns"] for row in found] == [1_087, 0, 2_500, 0, None, 0]
    assert (found[0]["start_ns"], found[2]["kernel_name"]) == (1736413971558972912, 'Add, fused "x"')
    assert [row["step"] for row in found] == [19, 19, 19, 19, 20, None]
    types = "select kernel_type, total_duration_ns from marts.kernel_type where step is null"
    assert pairs(tmp_path, types) == {"MatMulV2": 366_000, "Cast": 40_125, "Add": 12_000, "MemSet": 1_500}
    collectives = "select collective_name, total_duration_ns from marts.communication where step is null"
    assert pairs(tmp_path, collectives) == {"allreduce": 300_250}
    by_shape = pairs(
        tmp_path,
        "select kernel_type || coalesce(' ' || input_shapes, ''), sum(total_duration_ns)"
        " from marts.kernel where step is null and kernel_class <> 'Communication' group by 1",
    )
    assert by_shape == {"MatMulV2 128,64;64,32": 366_000, "Cast": 40_125, "Add 128,32;128,32": 12_000, "MemSet": 1_500}
    steps = "select step, device_duration_ns from marts.step"
    assert pairs(tmp_path, steps) == {19: 678_250, 20: 40_125}


@pytest.mark.parametrize("sheet_rows", [None, 1_002])
def test_23_a_sheet_has_all_rows_or_says_how_many_and_where_they_are(tmp_path, monkeypatch, sheet_rows):
    """The given generator's events; the row limit of a sheet is made small in place of a trace of a million names."""
    count = 3 if sheet_rows is None else 1_005
    generate = next(CASES.glob("23-*")) / "gen.py"
    source = tmp_path / "big.json"
    source.write_bytes(
        subprocess.run([sys.executable, generate, str(count)], stdout=subprocess.PIPE, check=True).stdout
    )
    if sheet_rows is not None:
        monkeypatch.setattr(xlsx, "SHEET_ROWS", sheet_rows)
    result = pipeline.compare(source, source, warehouse=tmp_path / "house", output=tmp_path, files=["xlsx"])
    figures = overall(tmp_path / "house", "big")
    assert figures["E2E Time"] == (2 * count - 1) * 1_000
    assert figures["Computing Time"] == count * 1_000
    assert figures["Free"] == (count - 1) * 1_000
    book = openpyxl.load_workbook(result.files[0], read_only=True)
    lines = list(book["KernelCompare"].iter_rows(values_only=True))
    shown = count if sheet_rows is None else sheet_rows - xlsx.HEADER_ROWS
    assert len(lines) == shown + xlsx.HEADER_ROWS
    if sheet_rows is not None:
        (beside,) = (path for path in result.files if path.suffix == ".csv")
        assert lines[0][0] == f"{shown:,} of {count:,} rows; all rows in {beside.name}"
        assert len(beside.read_text(encoding="utf-8-sig").splitlines()) == count + 1
