"""How many rows of a table a screen shows."""

from __future__ import annotations

import io
from dataclasses import replace

import pipeline
from pipeline.render.console import print_comparison
from tests.support import traces
from tests.support.events import kernel, memory


def test_a_table_with_a_row_per_call_shows_its_first_rows(tmp_path):
    events = [kernel(f"k{i:02}", 10_000 * i, 5_000) for i in range(30)]
    source = traces.write(tmp_path / "t.json", events)
    result = pipeline.compare(source, source, warehouse=tmp_path / "house", choice=pipeline.Choice(only=["kernel"]))
    table = result.tables["kernel_comparison"]
    screens = {}
    for detail in (False, True):
        view = replace(table.view, order="kernel_name", rank=(), detail=detail)
        out = io.StringIO()
        print_comparison(replace(result, tables={view.name: replace(table, view=view)}), out, top=7)
        screens[detail] = out.getvalue()
    assert [f"k{i:02}" in screens[False] for i in range(30)] == [True] * 30
    assert [f"k{i:02}" in screens[True] for i in range(30)] == [True] * 7 + [False] * 23
    assert "first 7 of 30 rows" in screens[True]


def on_two_devices(factor):
    """Memory and a kernel on each of two devices."""
    events = []
    for device in (0, 1):
        size = (device + 1) * factor
        events += [
            memory(1024, 10_000 + 1_000 * device, address=device + 1, device=device, reserved=4096 * size),
            kernel("gemm", 100_000, 10_000 * size, device=device),
        ]
    return events


def test_rows_of_one_name_are_told_apart_by_their_device(tmp_path):
    base, new = (traces.write(tmp_path / f"{n}.json", on_two_devices(n)) for n in (1, 2))
    out = io.StringIO()
    print_comparison(pipeline.compare(base, new, warehouse=tmp_path / "house"), out)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert [line[:4] for line in lines if "Computing" in line] == [
        [device, "Computing", "Time", figure]
        for device, figure in [("0", "10.000"), ("1", "20.000")] * 2  # of the headline and of the metrics
    ]
    assert [line[:3] for line in lines if line[2:3] == ["KiB"]] == [["0", "4.000", "KiB"], ["1", "8.000", "KiB"]]


def test_rows_that_their_names_tell_apart_have_no_device(tmp_path):
    events = traces.write(tmp_path / "t.json")
    out = io.StringIO()
    print_comparison(pipeline.compare(events, events, warehouse=tmp_path / "house"), out)
    assert "Device ordinal" not in out.getvalue()


def test_of_a_long_path_the_end_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    events = [kernel("k", 10_000, 5_000)]
    source = traces.write(tmp_path / "t.json", events)
    result = pipeline.compare(source, source, warehouse=tmp_path / "house", choice=pipeline.Choice(only=["kernel"]))
    table = result.tables["kernel_comparison"]
    path = "/Net_0" + "/Block_7" * 20 + "/Linear_3"
    columns = tuple(replace(c, name="module_name") if c.name == "kernel_name" else c for c in table.view.columns)
    rows = table.rows.rename_columns([c.name for c in columns])
    rows = rows.set_column(rows.column_names.index("module_name"), "module_name", [[path] * rows.num_rows])
    view = replace(table.view, columns=columns, order="module_name", rank=(), path=("module_name",))
    out = io.StringIO()
    print_comparison(replace(result, tables={view.name: replace(table, view=view, rows=rows)}), out, top=7)
    assert "/Block_7/Linear_3" in out.getvalue()
    assert path not in out.getvalue()
