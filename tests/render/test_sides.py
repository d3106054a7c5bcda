"""Which side is which: each place of page, workbook and screen that names one has the figures of that side alone.

The two runs differ in all that is shown of a run: device, file, events, steps, the chosen step, and every figure.
"""

from __future__ import annotations

import io
import re

import openpyxl
import pytest

import pipeline
from pipeline.catalog.header import Column
from pipeline.render import units
from pipeline.render.console import print_comparison
from pipeline.render.workbook import xlsx
from tests.support import traces
from tests.support.events import kernel, launch, memory, op, python, step
from tests.support.page import Page

BANDS = {"base": "FFDDEBF7", "comparison": "FFE2EFDA", "diff": "FFFCE4D6", "ratio": "FFFCE4D6", None: "FFEDEDED"}
WIDTHS = {
    "name": 60,
    "text": 40,
    "category": 16,
    "id": 12,
    "ratio": 10,
    "share": 10,
    "count": 12,
    "depth": 8,
    "flag": 8,
}


def run(steps, gemm, extra=()):
    """Steps of 1 ms in a module, each with an allocation and a kernel of `gemm` µs and one more in each step."""
    events = [python("nn.Module: Net_0", 990_000, 1_000_000 * steps + 20_000, 1)]
    for number in range(1, steps + 1):
        at = 1_000_000 * number
        events += [
            step(number, at, 990_000),
            op("aten::mm", at + 10_000, 20_000),
            memory(4096 * gemm, at + 12_000, address=number),
            launch("cudaLaunchKernel", at + 15_000, 3_000, number),
            kernel("gemm", at + 30_000, 1_000 * (gemm + number), correlation=number),
        ]
    return [*events, *extra]


@pytest.fixture(scope="module", params=[(None, None), (2, 3), (1, None)], ids=["whole", "steps", "mixed"])
def compared(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    device = ({"id": 0, "name": "Old GPU"}, {"id": 0, "name": "New GPU"})
    base = traces.write(folder / "left.json", run(3, 100), deviceProperties=[device[0]])
    more = [kernel("only_new", 3_500_000, 50_000), op("aten::cos", 3_600_000, 7_000)]
    new = traces.write(folder / "right.json", run(4, 150, more), deviceProperties=[device[1]])
    steps = dict(zip(("base_step", "comparison_step"), request.param, strict=True))
    result = pipeline.compare(
        base, new, warehouse=folder / "house", output=folder / "out", choice=pipeline.Choice(**steps)
    )
    return result, request.param


@pytest.fixture(scope="module")
def page(compared):
    return Page(next(path for path in compared[0].files if path.suffix == ".html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def book(compared):
    return openpyxl.load_workbook(next(path for path in compared[0].files if path.suffix == ".xlsx"))


def step_title(step):
    return "" if step is None else f", step {step}"


def test_each_side_has_the_figures_of_its_own_scope(compared):
    result, steps = compared
    (row,) = [row for row in result.tables["overall_comparison"].rows.to_pylist() if row["metric"] == "Computing Time"]
    # Whole runs have kernels of 101 to 103, and of 151 to 154 beside one of 50; a step has the kernel of its number.
    of_base, of_comparison = {None: 306, 1: 101, 2: 102}, {None: 660, 3: 153}
    found = (row["base_duration_ns"], row["comparison_duration_ns"])
    assert found == (1000 * of_base[steps[0]], 1000 * of_comparison[steps[1]])
    assert [side.step for side in (result.base, result.comparison)] == list(steps)


# -- the page ------------------------------------------------------------------------------------------------------


def test_the_facts_of_a_side_stand_in_its_column(compared, page):
    result, steps = compared
    assert [cell.text.strip() for cell in page.facts[0]] == ["", "Base: left", "Comparison: right"]
    assert [cell.attributes.get("class") for cell in page.facts[0]] == [None, "base", "comparison"]
    scopes = ["whole run" if step is None else f"step {step}" for step in steps]
    assert [[cell.text for cell in row] for row in page.facts[1:]] == [
        ["Device", "Old GPU", "New GPU"],
        ["Trace", result.base.run["source_path"], result.comparison.run["source_path"]],
        ["Scope", f"{scopes[0]}, 3 steps recorded", f"{scopes[1]}, 4 steps recorded"],
        ["Recorded", "16 events, 3 device activities", "23 events, 5 device activities"],
    ]
    assert result.base.run["source_path"].endswith("left.json")
    assert page.facts[1][0].attributes.get("scope") == "row"


def test_titles_go_from_base_to_comparison(compared, page):
    _, steps = compared
    titles = [f"left{step_title(steps[0])}", f"right{step_title(steps[1])}"]
    assert f"{titles[0]} → {titles[1]} · tracemill" in page.text
    assert re.search(rf"{re.escape(titles[0])}\s*→\s*{re.escape(titles[1])}\n", page.text)


def test_a_band_has_the_name_and_the_columns_of_its_side(compared, page):
    result, steps = compared
    told = {
        "base": f"Base: left{step_title(steps[0])}",
        "comparison": f"Comparison: right{step_title(steps[1])}",
        "diff": "Comparison − base",
        "": None,
    }
    for name, section in page.sections.items():
        if not result.tables[name].rows.num_rows:
            continue
        columns = {c.name: c for c in result.tables[name].columns}
        shown = [columns[column["name"]] for column in section.packed["columns"]]
        sides = [{"ratio": "diff", None: ""}.get(units.prefix(column), units.prefix(column)) for column in shown]
        spans = [
            band.attributes.get("class", "") for band in section.bands for _ in range(int(band.attributes["colspan"]))
        ]
        assert spans == sides, name
        assert [title.attributes["class"].split(" ")[0].removesuffix("text") for title in section.titles] == sides, name
        assert [title.text for title in section.titles] == [units.label(column) for column in shown], name
        assert [title.attributes["title"] for title in section.titles] == [column.meaning for column in shown], name
        for band in section.bands:
            side = band.attributes.get("class", "")
            assert band.attributes.get("title") == told[side], (name, side)
            short = {"base": "Base", "comparison": "Comparison", "diff": "Difference", "": ""}[side]
            whole = "Difference" if side == "diff" else told[side] or ""
            assert band.text.strip() == (whole if int(band.attributes["colspan"]) > 1 else short), (name, side)


def test_chart_and_sentence_go_from_base_to_comparison(compared, page):
    (row, *_) = compared[0].tables["headline_comparison"].rows.to_pylist()
    trace = next(figure["data"][0] for figure in page.figures if figure["data"][0]["type"] == "waterfall")
    assert (trace["hovertext"][0].split("<br>")[0], trace["hovertext"][-1].split("<br>")[0]) == ("Base", "Comparison")
    assert (trace["y"][0], trace["y"][-1]) == (row["base_duration_ns"] / 1e6, row["comparison_duration_ns"] / 1e6)
    assert row["base_duration_ns"] < row["comparison_duration_ns"]
    ends = [units.duration(row[f"{side}_duration_ns"]) for side in ("base", "comparison")]
    assert f": {ends[0]} → {ends[1]}, ×" in page.text
    assert "slower" in page.text.split(f": {ends[0]} → {ends[1]}")[1].split("\n")[0]
    assert trace["increasing"]["marker"]["color"] == "#cf4a3f"  # more time is worse


def test_the_areas_of_a_side_have_its_name_and_its_figures(compared, page):
    icicles = [figure["data"] for figure in page.figures if figure["data"][0]["type"] == "icicle"]
    (both,) = icicles
    rows = [row for row in compared[0].tables["module_comparison"].rows.to_pylist() if row["own_name"] == "Net_0"]
    for trace, side, title, ends in zip(
        both, ("base", "comparison"), ("Base", "Comparison"), ([0.52, 1], [0, 0.48]), strict=True
    ):
        total = rows[0][f"{side}_device_total_duration_ns"]
        assert trace["labels"][0] == trace["hovertext"][0] == f"{title}: {units.duration(total)}"
        assert (trace["values"][0], trace["labels"][1], trace["values"][1]) == (total, "Net_0", total)
        assert trace["domain"]["y"] == ends  # base above
        base, new = (units.duration(rows[0][f"{s}_device_total_duration_ns"]) for s in ("base", "comparison"))
        assert trace["hovertext"][1].split("<br>")[-2:] == [f"Base {base}", f"Comparison {new}"]


def test_the_titles_of_a_tree_stand_above_the_figures_of_their_side(compared, page, tmp_path):
    text = next(path for path in compared[0].files if path.suffix == ".html").read_text(encoding="utf-8")
    (head, *_) = re.findall(r'<div class="node titles"[^>]*>(.*?)</div>', text)
    assert re.findall(r'<span class="(\w+)">(\w+)</span>', head) == [
        ("diff", "Difference"), ("diff", "Ratio"), ("base", "Base"), ("comparison", "Comparison"),
    ]  # fmt: skip
    (row,) = [row for row in compared[0].tables["module_comparison"].rows.to_pylist() if row["own_name"] == "Net_0"]
    node = text[text.index("<span>Net_0") :].split("</div>")[0]
    exact = [int(value) for value in re.findall(r'title="(-?\d+) ns"', node)]
    assert exact == [row[f"{side}_device_total_duration_ns"] for side in ("diff", "base", "comparison")]


# -- the workbook ------------------------------------------------------------------------------------------------------


def sheets(compared, book):
    return [(table, book[table.view.sheet]) for table in compared[0].tables.values()]


def test_a_band_of_a_sheet_has_the_name_the_path_and_the_columns_of_its_side(compared, book):
    result, steps = compared
    told = {
        "base": f"Base: left{step_title(steps[0])}  {result.base.run['source_path']}",
        "comparison": f"Comparison: right{step_title(steps[1])}  {result.comparison.run['source_path']}",
        "diff": "Comparison − Base",
    }
    for table, sheet in sheets(compared, book):
        merged = {str(area).split(":")[0]: area for area in sheet.merged_cells.ranges}
        starts = [cell for cell in sheet[1] if cell.value]
        sides = []
        for cell in starts:
            width = merged[cell.coordinate].size["columns"] if cell.coordinate in merged else 1
            side = next((side for side, text in told.items() if cell.value == text), None)
            assert cell.fill.start_color.rgb == BANDS[side], (table.view.name, cell.coordinate)
            sides += [side] * width
        wanted = [units.prefix(column) for column in table.columns]
        assert sides == ["diff" if side == "ratio" else side for side in wanted], table.view.name


def test_a_title_of_a_sheet_names_its_column_with_side_unit_width_and_colour(compared, book):
    for table, sheet in sheets(compared, book):
        widths = {}  # neighbours of one width are one element
        for group in sheet.column_dimensions.values():
            widths |= dict.fromkeys(range(group.min, group.max + 1), group.width)
        for place, column in enumerate(table.columns, 1):
            cell, side = sheet.cell(2, place), units.prefix(column)
            title = units.label(column, unit=True)
            assert cell.value == (f"Diff {title}" if side == "diff" else title)
            assert cell.fill.start_color.rgb == BANDS[side], (table.view.name, column.name)
            assert widths[place] == pytest.approx(WIDTHS.get(column.type, 16), abs=1), (table.view.name, column.name)


def test_exactly_the_differences_are_coloured_over_all_rows(compared, book):
    coloured = 0
    for table, sheet in sheets(compared, book):
        last = xlsx.HEADER_ROWS + table.rows.num_rows
        wanted = set()
        for place, column in enumerate(table.columns, 1):
            if column.name.startswith("diff_") and table.rows.num_rows:
                letter = sheet.cell(2, place).column_letter
                wanted.add(f"{letter}3:{letter}{last}" if last > 3 else f"{letter}3")
        found = {}
        for area in sheet.conditional_formatting:
            (rule,) = area.rules
            found[str(area.sqref)] = (rule.type, rule.operator, *rule.formula, rule.dxf.fill.bgColor.rgb)
        assert set(found) == wanted, table.view.name
        assert set(found.values()) <= {("cellIs", "greaterThan", "0", "FFFFC7CE")}
        assert sheet.auto_filter.ref == f"A2:{sheet.cell(2, len(table.columns)).column_letter}{max(last, 2)}"
        assert sheet.freeze_panes == "B3"
        coloured += len(wanted)
    assert coloured > 10


def test_number_formats_follow_the_type_of_a_column(compared, book):
    formats = dict.fromkeys(("duration_ns", "bytes", "bandwidth"), "#,##0.000")
    formats |= {"ratio": "0.0000", "share": "0.00%", "count": "#,##0", "depth": "0"}
    for table, sheet in sheets(compared, book):
        for place, column in enumerate(table.columns, 1):
            if table.rows.num_rows and sheet.cell(3, place).value is not None:
                assert sheet.cell(3, place).number_format == formats.get(column.type, "@"), (
                    table.view.name,
                    column.name,
                )


def test_about_has_each_run_in_its_column(compared, book):
    result, steps = compared
    rows = [[cell.value for cell in row] for row in book["About"].iter_rows()]
    assert rows[0] == [None, "Base", "Comparison"]
    about = {row[0]: row[1:] for row in rows[1:]}
    for key in result.base.run:
        sides = [side.run[key] for side in (result.base, result.comparison)]
        assert about[key] == [None if value is None else str(value) for value in sides], key
    assert about["run_id"] == ["left", "right"]
    assert about["scope"] == ["whole run" if step is None else f"step {step}" for step in steps]
    names, sides = (book["About"].column_dimensions[letter] for letter in "AB")
    assert [names.width, sides.width] == pytest.approx([28, 60], abs=1)
    assert (sides.min, sides.max) == (2, 3)


# -- the screen ------------------------------------------------------------------------------------------------------


def test_the_screen_names_each_side_and_puts_its_figures_below(compared):
    result, steps = compared
    out = io.StringIO()
    print_comparison(result, out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith(f"base       left{step_title(steps[0])}  (Old GPU, 16 events, 3 device activities)")
    assert lines[1].startswith(f"comparison right{step_title(steps[1])}  (New GPU, 23 events, 5 device activities)")
    assert (lines[0].split()[-1].endswith("left.json"), lines[1].split()[-1].endswith("right.json")) == (True, True)
    place = next(i for i, line in enumerate(lines) if line.split()[:4] == ["Metric", "base", "comparison", "diff"])
    e2e = next(line for line in lines[place:] if line.split()[:2] == ["E2E", "Time"])
    (row, *_) = result.tables["headline_comparison"].rows.to_pylist()
    assert e2e.split()[2:6] == [
        *units.duration(row["base_duration_ns"]).split(),
        *units.duration(row["comparison_duration_ns"]).split(),
    ]


def test_other_numbers_of_steps_are_told_for_whole_runs_alone(compared):
    result, steps = compared
    told = [note for note in result.notes if "steps" in note]
    whole = ["the runs recorded 3 and 4 steps: compare per-step averages, not totals (--average-step)"]
    assert told == (whole if steps == (None, None) else [])


def test_steps_of_which_none_is_complete_have_no_average_and_the_reader_is_told(tmp_path):
    lost = [
        step(1, 1_000_000, 900_000),
        launch("cudaLaunchKernel", 1_010_000, 1_000, 77),
        kernel("gemm", 1_100_000, 50_000),
    ]
    source = traces.write(tmp_path / "cut.json", lost)
    whole = traces.write(tmp_path / "whole.json", run(2, 100))
    result = pipeline.compare(source, whole, warehouse=tmp_path / "house", output=tmp_path, files=["html"])
    assert result.notes == (
        "the runs recorded 1 and 2 steps: compare per-step averages, not totals, but cut recorded no complete step",
    )
    (row, *_) = result.tables["headline_comparison"].rows.to_pylist()
    assert row["scope"] == "whole run"
    page = Page(result.files[0].read_text(encoding="utf-8"))
    assert [cell.text for cell in page.facts[3]] == [
        "Scope", "whole run, 1 step recorded, 0 complete", "whole run, 2 steps recorded",
    ]  # fmt: skip


# -- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "on_screen", "in_column"),
    [
        ("bandwidth", 3_000_000_000, "3.000 GB/s", ("GB/s", 3.0)),
        ("bandwidth", 1 << 30, "1.074 GB/s", ("GB/s", 1.073741824)),
        ("bytes", 1 << 30, "1.000 GiB", ("MiB", 1024.0)),
        ("bytes", 1_000_000, "976.562 KiB", ("MiB", 0.95367431640625)),
        ("duration_ns", 1_234_567, "1.235 ms", ("us", 1234.567)),
        ("duration_ns", 2_000_000_000, "2.000 s", ("us", 2_000_000.0)),
    ],
)
def test_units_are_decimal_for_time_and_bandwidth_and_binary_for_memory(kind, value, on_screen, in_column):
    assert units.text(value, Column("x", kind, "")) == on_screen
    unit, divisor = units.COLUMN_UNITS[kind]
    assert (unit, value / divisor) == in_column


def test_what_one_side_lacks_is_new_or_gone_and_what_was_not_measured_is_neither():
    ratio = Column("ratio_x", "ratio", "")

    def mark(base, comparison, diff):
        return units.row_text({"base_x": base, "comparison_x": comparison, "diff_x": diff, "ratio_x": None}, ratio)

    assert mark(None, 5, 5) == "new"
    assert mark(5, None, -5) == "gone"
    assert mark(None, 5, None) == mark(5, None, None) == mark(None, None, None) == "not known"
    assert mark(0, 5, 5) == ""
