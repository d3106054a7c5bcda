"""The workbook: the same figures as SQL, nothing taken for a formula, rows that do not fit said and kept."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import replace
from itertools import accumulate

import openpyxl
import pyarrow as pa
import pytest

import pipeline
from pipeline.render import units
from pipeline.render.tabular import write_csv
from pipeline.render.workbook import xlsx
from tests.support import traces
from tests.support.events import kernel

SHEETS = {
    "Summary", "OverallMetrics", "StepCompare", "MemoryPeakCompare", "OperatorCompareStatistic", "KernelCompare",
    "KernelTypeCompare", "CommunicationCompare", "TransportCompare", "MemoryCompareStatistic", "ApiCompare",
    "OperatorCompare", "MemoryCompare", "About",
}  # fmt: skip
EVIL = [
    "=1+1",
    "+2",
    "-3",
    "@SUM(A1)",
    "http://example.com/x",
    "x" * 40_000,
    "a\x01b",
    "</script><b>",
    '=HYPERLINK("x")',
    '<r></is></c><c r="B3"><f>1+1</f></c><c><is></r>',
    " padded\nand broken ",
    "_x0041_",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "＝1+1",
    "|cmd",
]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("workbook")
    base = traces.write(tmp_path / "base.json")
    new = traces.write(
        tmp_path / "new.json", [*traces.SMALL, *(kernel(name, 100_000 * i, 7_000) for i, name in enumerate(EVIL, 20))]
    )
    return pipeline.compare(base, new, warehouse=tmp_path / "house", output=tmp_path / "out")


def cells(path, sheet):
    book = openpyxl.load_workbook(path)
    return [list(row) for row in book[sheet].iter_rows()]


def assert_same_figures(result, path):
    """Every cell of every sheet is the value that SQL gave, in the unit of the column's title."""
    book = openpyxl.load_workbook(path)
    for table in result.tables.values():
        sheet = book[table.view.sheet]
        found = list(sheet.iter_rows(min_row=xlsx.HEADER_ROWS + 1, values_only=True))
        wanted = table.rows.to_pylist()
        assert len(found) == len(wanted), table.view.name
        for row, values in zip(wanted, found, strict=True):
            for column, value in zip(table.columns, values, strict=True):
                exact = row[column.name]
                if isinstance(exact, int) and not isinstance(exact, bool) and value is not None:
                    divisor = units.COLUMN_UNITS.get(column.type, ("", 1))[1]
                    assert round(float(value) * divisor) == exact, (table.view.name, column.name)
                elif isinstance(exact, float):
                    assert value == pytest.approx(exact)
                elif exact is None:
                    assert value in (None, "new", "gone", "not known"), (table.view.name, column.name, value)


def test_sheets_reopen_with_the_figures_of_sql(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    assert set(openpyxl.load_workbook(path).sheetnames) == SHEETS
    assert_same_figures(compared, path)


def test_two_header_rows_bands_panes_filter(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    sheet = openpyxl.load_workbook(path)["KernelCompare"]
    bands = [cell.value for cell in sheet[1] if cell.value]
    assert bands[0] == "Kernels"
    assert bands[1].startswith("Base: base")
    assert bands[1].endswith("base.json")
    assert bands[2].startswith("Comparison: new")
    titles = [cell.value for cell in sheet[2]]
    assert titles[:5] == ["Kernel Name", "Input Shapes", "Kernel Class", "Matched By", "Total Duration (us)"]
    assert "Diff Total Duration (us)" in titles
    assert sheet.freeze_panes == "B3"
    assert sheet.auto_filter.ref.startswith("A2:")
    assert sheet.conditional_formatting


def test_no_cell_is_a_formula_or_a_link(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    kinds = {cell.data_type for row in cells(path, "KernelCompare") for cell in row if cell.value is not None}
    assert kinds == {"s", "n"}
    assert not any(cell.hyperlink for row in cells(path, "KernelCompare") for cell in row)
    names = [row[0].value for row in cells(path, "KernelCompare")[2:]]
    assert {name for name in EVIL if len(name) < 100 and not {"\x01", "\r"} & set(name)} - {"_x0041_"} <= set(names)
    assert max(map(len, names)) <= 32_767


def test_what_a_person_called_a_run_is_text(tmp_path):
    evil = '<r></is></c><c r="B3"><f>1+1</f></c><c><is></r>'
    pipeline.ingest(traces.write(tmp_path / "t.json"), label=evil, warehouse=tmp_path / "house")
    result = pipeline.compare(evil, evil, warehouse=tmp_path / "house", output=tmp_path / "out", files=["xlsx"])
    about = {row[0].value: row[1] for row in cells(result.files[0], "About")}
    assert (about["label"].value, about["label"].data_type) == (evil, "s")


def test_the_tree_is_indented(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    indents = {row[1].value: row[1].alignment.indent for row in cells(path, "OverallMetrics")[2:]}
    assert (indents["E2E Time"], indents["Computing Time"], indents["SDMA"]) == (0, 1, 2)


def test_about_says_what_was_compared(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    about = {row[0].value: [cell.value for cell in row[1:]] for row in cells(path, "About")}
    assert about["run_id"] == ["base", "new"]
    assert about["catalog fingerprint"][0] == compared.fingerprint


def test_rows_that_do_not_fit_are_said_and_are_in_a_csv(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "SHEET_ROWS", 12)
    events = [kernel(f"={i}", 10_000 * i, 5_000) for i in range(25)]
    source = traces.write(tmp_path / "many.json", events)
    result = pipeline.compare(
        source, source, warehouse=tmp_path / "house", output=tmp_path / "out", choice=pipeline.Choice(only=["kernel"])
    )
    book, beside, _ = result.files
    rows = cells(book, "KernelCompare")
    assert len(rows) == 12
    assert rows[0][0].value == f"10 of 25 rows; all rows in {beside.name}"
    with beside.open(encoding="utf-8-sig", newline="") as file:
        header, *lines = csv.reader(file)
    assert len(lines) == 25
    assert {line[header.index("kernel_name")][:2] for line in lines} == {"'="}
    assert sum(int(line[header.index("base_total_duration_ns")]) for line in lines) == 25 * 5_000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    source = traces.write(
        folder / "many.json", [kernel(f"k{i}", 10_000 * i, 5_000 + 1_000 * (i % 4)) for i in range(25)]
    )
    return pipeline.compare(source, source, warehouse=folder / "house", choice=pipeline.Choice(only=["kernel"]))


@pytest.mark.parametrize("size", [1, 7, 24, 25])
@pytest.mark.parametrize("chunks", [[25], [5, 9, 11]])
def test_rows_follow_one_another_whatever_the_size_of_a_batch(many, tmp_path, monkeypatch, size, chunks):
    """A batch ends where a chunk of DuckDB's answer does."""
    monkeypatch.setattr(xlsx, "_BATCH_ROWS", size)
    table = many.tables["kernel_comparison"]
    starts = accumulate(chunks[:-1], initial=0)
    parts = pa.concat_tables([table.rows.slice(start, count) for start, count in zip(starts, chunks, strict=True)])
    assert [len(batch) for batch in parts.to_batches()] == chunks
    result = replace(many, tables={table.view.name: replace(table, rows=parts)})
    (path,) = xlsx.write_xlsx(result, tmp_path / "book.xlsx")
    with zipfile.ZipFile(path) as book:
        (sheet,) = (text for name in book.namelist() if b">k24<" in (text := book.read(name)))
    assert re.findall(rb'<row r="(\d+)"', sheet) == [str(number).encode() for number in range(1, 28)]
    places = [int(number) for number in re.findall(rb'<c r="A(\d+)"[^>]*><is>', sheet)]
    assert places == list(range(3, 28))
    names = [row[0].value for row in cells(path, "KernelCompare")[2:]]
    assert names == table.rows.column("kernel_name").to_pylist()


def test_text_that_looks_like_a_formula_stays_text_in_workbook_and_csv(tmp_path, monkeypatch):
    names = [f"{first}1" for first in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")]
    monkeypatch.setattr(xlsx, "SHEET_ROWS", len(names))
    source = traces.write(tmp_path / "t.json", [kernel(name, 10_000 * i, 5_000) for i, name in enumerate(names)])
    result = pipeline.compare(
        source, source, warehouse=tmp_path / "house", output=tmp_path / "out", choice=pipeline.Choice(only=["kernel"])
    )
    book, beside, _ = result.files
    with zipfile.ZipFile(book) as parts:
        assert not any(b"<f>" in parts.read(name) for name in parts.namelist())
    assert {row[0].data_type for row in cells(book, "KernelCompare")[2:]} == {"s"}
    with beside.open(encoding="utf-8-sig", newline="") as file:
        header, *lines = csv.reader(file)
    assert sorted(line[header.index("kernel_name")] for line in lines) == sorted("'" + name for name in names)
    out = io.StringIO(newline="")
    write_csv(pipeline.query("select kernel_name, -1 as below from marts.kernel", warehouse=tmp_path / "house"), out)
    assert sorted(csv.reader(io.StringIO(out.getvalue(), newline="")))[: len(names)] == sorted(
        ["'" + name, "-1"] for name in names
    )


def test_text_that_is_no_formula_is_not_marked():
    out = io.StringIO(newline="")
    write_csv(pa.table({"name": ["void k<1>(int)", "a=b", "", None, "'q'"], "size": [1, -2, 3, None, 5]}), out)
    assert out.getvalue() == "name,size\nvoid k<1>(int),1\na=b,-2\n,3\n,\n'q',5\n"


def test_a_view_without_rows_keeps_its_sheet(compared):
    path = next(p for p in compared.files if p.suffix == ".xlsx")
    assert len(cells(path, "CommunicationCompare")) == xlsx.HEADER_ROWS
