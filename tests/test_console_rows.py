"""How many rows of a table a screen shows."""

from __future__ import annotations

import io
from dataclasses import replace

import pipeline
from pipeline.render.console import print_comparison
from tests import traces


def test_a_table_with_a_row_per_call_shows_its_first_rows(tmp_path):
    events = [traces.kernel(f"k{i:02}", 10 * i, 5) for i in range(30)]
    source = traces.write(tmp_path / "t.json", events)
    result = pipeline.compare(source, source, warehouse=tmp_path / "house", only=["kernel"])
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


def test_of_a_long_path_the_end_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    events = [traces.kernel("k", 10, 5)]
    source = traces.write(tmp_path / "t.json", events)
    result = pipeline.compare(source, source, warehouse=tmp_path / "house", only=["kernel"])
    table = result.tables["kernel_comparison"]
    path = "/Net_0" + "/Block_7" * 20 + "/Linear_3"
    columns = tuple(replace(c, name="module_name") if c.name == "kernel_name" else c for c in table.view.columns)
    rows = table.rows.rename_columns([c.name for c in columns])
    rows = rows.set_column(rows.column_names.index("module_name"), "module_name", [[path] * rows.num_rows])
    view = replace(table.view, columns=columns, order="module_name", rank=())
    out = io.StringIO()
    print_comparison(replace(result, tables={view.name: replace(table, view=view, rows=rows)}), out, top=7)
    assert "/Block_7/Linear_3" in out.getvalue()
    assert path not in out.getvalue()
