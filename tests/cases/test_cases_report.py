"""Given inputs whose outcome is what a reader is told, and inputs of our own of the same kinds in other shapes."""

from __future__ import annotations

import io

import pytest

import pipeline
from pipeline.render.console import print_comparison
from tests.support import traces
from tests.support.events import kernel, launch, memory, op, python, step
from tests.support.paths import CASES, needs_shared

HEADER = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
    "Block Dim\n"
)


def screen(result):
    """What a comparison prints."""
    out = io.StringIO()
    print_comparison(result, out)
    return out.getvalue()


def table(result, name, *columns):
    """Some columns of one of a comparison's tables."""
    return [tuple(row[column] for column in columns) for row in result.tables[f"{name}_comparison"].rows.to_pylist()]


def kernel_details(folder, *rows):
    """A profile folder with kernel details alone: (name, type, start µs, duration µs)."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    lines = [
        f"1,0,1,{number},1,{name},{kind},AI_CORE,{start},{duration},0,1"
        for number, (name, kind, start, duration) in enumerate(rows)
    ]
    (output / "kernel_details.csv").write_text(HEADER + "\n".join(lines) + "\n")
    return folder


def no_side_is_called_the_other(result):
    assert not [t.silence for t in result.tables.values() if t.silence and "other run" in t.silence]


@needs_shared
def test_129_of_hosts_alone_the_wall_clock_is_the_headline_and_the_slower_operator_is_named(tmp_path):
    case = CASES / "129-cpu-only"
    result = pipeline.compare(case / "a.json", case / "b.json", warehouse=tmp_path)
    assert table(result, "headline", "metric", "base_duration_ns", "comparison_duration_ns", "diff_duration_ns") == [
        ("Host Wall Clock", 140_000, 190_000, 50_000)
    ]
    names = ("operator_name", "base_host_duration_ns", "comparison_host_duration_ns", "diff_host_duration_ns")
    assert table(result, "operator", *names) == [
        ("aten::mm", 100_000, 150_000, 50_000),
        ("aten::add", 30_000, 30_000, 0),
    ]
    shown = screen(result)
    assert "Host Wall Clock (whole run): 140.000 µs → 190.000 µs, ×1.357, 50.000 µs slower" in shown
    assert "Operators: no regression" not in shown
    operators = shown[shown.index("\nOperators") :]
    assert operators.splitlines()[5].split()[:7] == ["aten::mm", "100.000", "µs", "150.000", "µs", "+50.000", "µs"]
    no_side_is_called_the_other(result)


def test_a_host_that_runs_modules_and_steps_alone_is_compared_by_its_operators(tmp_path):
    def trace(name, addition):
        events = [
            python("nn.Module: Net_0", 5_000, 900_000, 1),
            step(1, 0, 1_000_000),
            op("aten::conv2d", 10_000, 200_000),
        ]
        return traces.write(tmp_path / name, [*events, op("aten::add", 300_000, addition)])

    result = pipeline.compare(trace("a.json", 40_000), trace("b.json", 60_000), warehouse=tmp_path / "house")
    assert "operator_comparison" in result.tables
    shown = screen(result)
    assert "Host Wall Clock (whole run): 330.000 µs → 350.000 µs" in shown
    assert "aten::add" in shown[shown.index("\nOperators") : shown.index("\nKernels")]
    no_side_is_called_the_other(result)


def test_a_host_alone_against_a_device_is_compared_by_host_time_and_knows_no_device_time(tmp_path):
    host = traces.write(tmp_path / "host.json", [op("aten::mm", 1_000_000, 40_000)])
    result = pipeline.compare(host, traces.write(tmp_path / "device.json"), warehouse=tmp_path / "house")
    rows = table(result, "headline", "metric", "base_duration_ns", "comparison_duration_ns", "diff_duration_ns")
    assert rows[:2] == [("Host Wall Clock", 40_000, 20_000, -20_000), ("E2E Time", None, 20_000, None)]
    shown = screen(result)
    assert "Host Wall Clock (whole run): 40.000 µs → 20.000 µs, ×0.500, 20.000 µs faster" in shown
    assert "new" not in shown[: shown.index("\nAverage step")]
    assert shown.count("not known") >= 5


def test_the_same_host_twice_has_no_regression_and_says_so(tmp_path):
    source = traces.write(tmp_path / "t.json", [op("aten::mm", 1_000_000, 40_000)])
    result = pipeline.compare(source, source, warehouse=tmp_path / "house")
    assert "Operators: no regression among 1 rows" in screen(result)
    assert len(result.notes) == 1  # what is said of both is said once


@pytest.mark.parametrize(("late", "verdict"), [(400, "250.000 µs slower"), (140, "10.000 µs faster")])
def test_tables_without_a_trace_are_judged_by_their_e2e_time(tmp_path, late, verdict):
    base = kernel_details(tmp_path / "a", ("MatMul1", "MatMul", 100, 10), ("Add1", "Add", 150, 10))
    new = kernel_details(tmp_path / "b", ("MatMul1", "MatMul", 100, 10), ("Add1", "Add", late, 10))
    result = pipeline.compare(base, new, warehouse=tmp_path / "house")
    shown = screen(result)
    assert shown[shown.index("E2E Time (whole run)") :].splitlines()[0].endswith(verdict)
    assert "gone" not in shown
    free = [
        line.split()
        for line in shown[: shown.index("\nOverall")].splitlines()
        if line.split()[:1] in (["SDMA"], ["Free"])
    ]
    assert ["SDMA", "not", "known"] in free
    assert ["Free", "not", "known"] in free


def test_calls_one_by_one_have_names_on_screen(tmp_path):
    def trace(name, length):
        return traces.write(
            tmp_path / name,
            [
                op("aten::mm", 1_000_000, 20_000),
                memory(512, 1_001_000),
                launch("cudaLaunchKernel", 1_005_000, 3_000, 41),
                kernel("gemm", 1_030_000, length, correlation=41),
            ],
        )

    sides = trace("a.json", 10_000), trace("b.json", 25_000)
    result = pipeline.compare(
        *sides, warehouse=tmp_path / "house", choice=pipeline.Choice(only=["operator_detail", "memory_detail"])
    )
    shown = screen(result)
    assert "Operator name" in shown
    assert [line.split()[0] for line in shown.splitlines() if "+15.000 µs" in line] == ["aten::mm"]
    events = [op("aten::mm", 1_000_000, 20_000), memory(4096, 1_001_000)]
    allocated = pipeline.compare(
        sides[0],
        traces.write(tmp_path / "c.json", events),
        warehouse=tmp_path / "house",
        choice=pipeline.Choice(only=["memory_detail"]),
    )
    assert [line.split()[0] for line in screen(allocated).splitlines() if "+3.500 KiB" in line] == ["aten::mm"]
