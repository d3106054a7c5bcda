"""What stands on screen, page and workbook is what the marts have, in every cell, for given pairs and some of our own.

Rules: exact values are whole nanoseconds and bytes. A text has the largest unit that leaves at least one of it, with
three decimals; ratios have three decimals, shares one of a percent. Each is off by at most half of its last digit. The
workbook divides by the unit in the column's title: 1,000 ns, 2^20 bytes, 10^9 bytes a second.
"""

from __future__ import annotations

import io
import re
from fractions import Fraction
from itertools import pairwise

import openpyxl
import pytest

import pipeline
from pipeline.extract.source import find_sources
from pipeline.render.console import print_comparison
from pipeline.render.workbook.xlsx import HEADER_ROWS
from tests.cases.test_cases_report import kernel_details
from tests.render.test_sides import run
from tests.support import traces
from tests.support.events import kernel, op
from tests.support.page import Page
from tests.support.paths import CASES, SHARED, SMALL_ALONE, TRACES, needs_shared

SIZES = {"": 1, "ns": 1, "µs": 1_000, "ms": 10**6, "s": 10**9, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
         "TiB": 1 << 40, "GB/s": 10**9}  # fmt: skip
DIVISORS = {"duration_ns": 1_000, "bytes": 1 << 20, "bandwidth": 10**9}
SMALL_FILE = 100_000
TEXTS = ("name", "text", "category")
MARKS = {"", "new", "gone", "not known"}


def own_pairs(folder):
    """Pairs of our own: other steps, a host alone, tables without a trace, a whole step against an incomplete one."""
    left = traces.write(folder / "left.json", run(3, 100))
    right = traces.write(folder / "right.json", run(4, 150, [kernel("only_new", 3_500_001, 50_125)]))
    host = traces.write(folder / "host.json", [op("aten::mm", 1_000_000, 40_000)])
    slow = traces.write(folder / "slow.json", [op("aten::mm", 1_000_000, 60_000), op("aten::cos", 1_070_000, 1_000)])
    tables = kernel_details(folder / "k1", ("MatMul1", "MatMul", 100, 10), ("Add1", "Add", 150, 10))
    later = kernel_details(folder / "k2", ("MatMul1", "MatMul", 100, 10), ("Add1", "Add", 400, 10.5))
    return [(left, right), (left, left), (host, slow), (host, left), (tables, later), (left, tables)]


def given_pairs():
    """Neighbours among the given traces, and among the profiles; one of each with the other; pairs of the cases."""
    if not SHARED.is_dir():
        return []
    folders = [] if SMALL_ALONE else sorted(path for path in (SHARED / "npu").iterdir() if path.is_dir())
    profiles = [min(folder.glob("*_ascend_*"), default=folder) for folder in folders]  # of several ranks the first
    cases = [
        sorted(path for path in case.iterdir() if path.suffix in (".json", ".gz"))
        for case in sorted(CASES.iterdir())
        if case.is_dir()
    ]
    pairs = [*pairwise(TRACES), *pairwise(profiles), *([(TRACES[0], profiles[0])] if TRACES and profiles else [])]
    return [*pairs, *(files for files in cases if len(files) == 2)]


def is_near(text, exact, last_digit):
    """Is a number as shown the exact one, rounded?"""
    return abs(Fraction(text.replace(",", "")) - Fraction(exact)) <= Fraction(last_digit) / 2 + Fraction(1, 10**9)


def shows(text, value, column):
    """Does a text say this value of a column?"""
    is_diff = column.name.startswith("diff_")
    if value is None:
        return text in (MARKS if column.name.startswith("ratio_") else {""})
    if column.type in ("duration_ns", "bytes", "bandwidth", "count"):
        found = re.fullmatch(r"(\+?)(-?[\d,]+)(\.\d{3})?(?: (\D+))?", text)
        if not found or (found[1] == "+") != (is_diff and value > 0) or (found[4] or "") not in SIZES:
            return False
        exact = Fraction(value) / SIZES[found[4] or ""]
        return is_near(found[2] + (found[3] or ""), exact, Fraction(1, 1000) if found[3] else 0)
    if column.type == "ratio":
        return text[:1] == "×" and is_near(text[1:], value, Fraction(1, 1000))
    if column.type == "share":
        return text[-1:] == "%" and is_near(text[:-1], Fraction(value) * 100, Fraction(1, 10) + Fraction(1, 10_000))
    if column.type == "flag":
        return text == ("yes" if value else "no")
    return text == str(value) or "…" in text or "\ufffd" in text


def identity(row, columns):
    return tuple(row[column.name] for column in columns)


def check_page(result, page):
    for name, section in page.sections.items():
        table = result.tables[name]
        if not table.rows.num_rows:
            assert not section.packed
            continue
        columns = {column.name: column for column in table.columns}
        shown = [columns[column["name"]] for column in section.packed["columns"]]
        assert section.packed["count"] == table.rows.num_rows, name
        rows = table.rows.to_pylist()
        found = [
            dict(zip(section.columns, values, strict=True)) for values in zip(*section.columns.values(), strict=True)
        ]
        keys = [column for column in shown if column.type not in (*TEXTS, "ratio", "share", "flag")]
        assert sorted(map(repr, (identity(r, keys) for r in found))) == sorted(
            map(repr, (identity(r, keys) for r in rows))
        ), name
        rank = table.rank
        if rank:
            rows = sorted(rows, key=lambda row: (row[rank.name] is None, -abs(row[rank.name] or 0)))
        for row, packed in zip(rows, found, strict=True):
            for column in shown:
                value, exact = packed[column.name], row[column.name]
                if column.type in TEXTS:
                    assert shows(value or "", exact, column) or exact == value, (name, column.name, value)
                elif exact is None:
                    assert value is None or value in MARKS - {""}, (name, column.name)
                elif column.type == "flag":
                    assert value == ("yes" if exact else "no")
                else:
                    assert value == exact, (name, column.name)
        for row, cells in zip(rows, section.rows, strict=False):
            for column, cell in zip(shown, cells, strict=True):
                assert shows(cell.text, row[column.name], column), (name, column.name, cell.text, row[column.name])
                if (
                    column.type not in (*TEXTS, "flag")
                    and row[column.name] is not None
                    and not isinstance(row[column.name], str)
                ):
                    assert cell.exact == row[column.name], (name, column.name)


def check_workbook(result, path):
    book = openpyxl.load_workbook(path, read_only=True)
    for table in result.tables.values():
        found = list(book[table.view.sheet].iter_rows(min_row=HEADER_ROWS + 1, values_only=True))
        wanted = table.rows.to_pylist()
        assert len(found) == len(wanted), table.view.name
        for row, values in zip(wanted, found, strict=True):
            cells = [*values, *[None] * (len(table.columns) - len(values))]
            for column, value in zip(table.columns, cells, strict=True):
                exact, where = row[column.name], (table.view.name, column.name)
                if exact is None:
                    assert value is None or (value in MARKS and column.name.startswith("ratio_")), where
                elif isinstance(exact, str):
                    # A cell of text has 32,767 characters at most; empty text is no cell.
                    assert (value or "") == exact or "_x" in str(value) or str(value).endswith("…"), where
                elif column.type == "flag":
                    assert value is exact, where
                elif column.type in ("ratio", "share"):
                    assert value == pytest.approx(exact), where
                else:
                    assert round(Fraction(value) * DIVISORS.get(column.type, 1)) == round(exact), where


def screen_tables(text):
    """Title of each printed table -> rows of cells, by the gaps that all of its lines have."""
    found = {}
    blocks = re.split(r"\n\s*\n", text)
    for title, block in pairwise(blocks):
        lines = [line for line in block.split("\n") if line.strip() and not line.strip().startswith("top regressions")]
        if len(lines) < 3 or set(lines[1].strip()) != {"─"}:
            continue
        width = max(map(len, lines))
        lines = [line.ljust(width) for line in lines]
        blank = [all(line[place] == " " for line in (lines[0], *lines[2:])) for place in range(width)]
        edges = [m.span() for m in re.finditer("1+", "".join("01"[not gap] for gap in blank))]
        joined = []
        for start, end in edges:  # one blank is within a cell, between a number and its unit
            if joined and start - joined[-1][1] < 2:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        cells = [[line[start:end].strip() for start, end in joined] for line in (lines[0], *lines[2:])]
        found[title.strip().split("\n")[-1].strip()] = (cells[0], cells[1:])
    return found


def check_screen(result):
    out = io.StringIO()
    print_comparison(result, out, top=5)
    printed = screen_tables(out.getvalue())
    for table in result.tables.values():
        if table.view.title not in printed:
            continue
        heads, lines = printed[table.view.title]
        by_name = {column.name: column for column in table.columns}
        sides = [place for place, head in enumerate(heads) if head in ("base", "comparison", "diff", "ratio")]
        candidates = [name.removeprefix("base_") for name in by_name if name.startswith("base_")]
        rows = table.rows.to_pylist()
        for line in lines:
            # Some row of the mart has these figures, of one measure, each under its own side.
            assert any(
                all(
                    f"{heads[p]}_{measure}" in by_name
                    and shows(line[p], row[f"{heads[p]}_{measure}"], by_name[f"{heads[p]}_{measure}"])
                    for p in sides
                )
                for measure in candidates
                if by_name[f"base_{measure}"].type not in (*TEXTS, "id", "flag")
                for row in rows
            ), (table.view.name, line)
    return printed


def check_one_e2e_time(result):
    """Headline = OverallMetrics, or StepCompare where it is an average, to the nanosecond."""
    found = result.tables["headline_comparison"].rows.to_pylist()
    overall = {(r["device_ordinal"], r["metric"]): r for r in result.tables["overall_comparison"].rows.to_pylist()}
    average = {(r["device_ordinal"], r["metric"]): r for r in result.tables["step_comparison"].rows.to_pylist()}
    for row in found:
        is_average = row["scope"].startswith("average")
        other = (average if is_average else overall)[row["device_ordinal"], row["metric"]]
        for side in ("base", "comparison", "diff"):
            assert row[f"{side}_duration_ns"] == other[f"{side}_{'average_' if is_average else ''}duration_ns"], row


def check(base, comparison, house, output, details=True):
    result = pipeline.compare(base, comparison, warehouse=house, output=output, choice=pipeline.Choice(details=details))
    check_one_e2e_time(result)
    check_page(result, Page(next(f for f in result.files if f.suffix == ".html").read_text(encoding="utf-8")))
    check_workbook(result, next(f for f in result.files if f.suffix == ".xlsx"))
    return check_screen(result)


@pytest.mark.parametrize("number", range(6))
def test_screen_page_and_workbook_of_our_own_pairs_are_what_the_marts_have(number, tmp_path):
    base, comparison = own_pairs(tmp_path)[number]
    printed = check(base, comparison, tmp_path / "house", tmp_path / "out")
    assert len(printed) >= 2, printed.keys()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return tmp_path_factory.mktemp("agreement")


@needs_shared
@pytest.mark.parametrize("pair", given_pairs(), ids=lambda pair: f"{pair[0].name} {pair[1].name} {pair[0].parent.name}")
def test_screen_page_and_workbook_of_a_given_pair_are_what_the_marts_have(pair, house, tmp_path):
    # Sheets with a row per call take most of the time to read back: of small files alone, and of our own pairs.
    details = all(path.is_file() and path.stat().st_size < SMALL_FILE for path in pair)
    base, comparison = (find_sources(path).sources[0].path for path in pair)  # a folder may hold several
    check(base, comparison, house, tmp_path, details=details)
