"""A comparison as a workbook, written row by row in constant memory.

Numbers stay numbers, with the unit in the column's title; text is never taken for a formula or a link.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import xlsxwriter

from pipeline.catalog.header import Column
from pipeline.render import units
from pipeline.result import Comparison, ResultTable

SHEET_ROWS = 1_048_576
HEADER_ROWS = 2
_CELL_CHARACTERS = 32_767
# Integers beyond this lose digits in a spreadsheet's double; ids of that size are written as text.
_EXACT = 1 << 53
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_WIDTHS = {
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
_NUMBER_FORMATS = {
    "duration_ns": "#,##0.000",
    "bytes": "#,##0.000",
    "bandwidth": "#,##0.000",
    "ratio": "0.0000",
    "share": "0.00%",
    "count": "#,##0",
    "depth": "0",
}
_BANDS = {"base": "#DDEBF7", "comparison": "#E2EFDA", "diff": "#FCE4D6", "ratio": "#FCE4D6", None: "#EDEDED"}


def write_xlsx(result: Comparison, path: Path) -> Iterator[Path]:
    """Write every table that has a sheet, and About; yield the workbook's path and those of CSVs beside it.

    A sheet whose rows do not fit says so, and all of them are in a CSV.
    """
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    overflow: list[Path] = []
    with xlsxwriter.Workbook(str(path), options) as workbook:
        for table in result.tables.values():
            if table.view.sheet:
                overflow += _Sheet(workbook, result, table, path).write()
        _write_about(workbook, result, overflow)
    yield path
    yield from overflow


class _Sheet:
    """One table on one sheet: a row of bands, a row of titles, then the rows."""

    def __init__(self, workbook: xlsxwriter.Workbook, result: Comparison, table: ResultTable, path: Path) -> None:
        self.workbook = workbook
        self.result = result
        self.table = table
        self.columns = table.columns
        self.sheet = workbook.add_worksheet(table.view.sheet)
        self.overflow = path.with_name(f"{path.stem}.{table.view.sheet}.csv")

    def write(self) -> list[Path]:
        rows = self.table.rows.num_rows
        fitting = min(rows, SHEET_ROWS - HEADER_ROWS)
        self._write_bands(fitting, rows)
        self._write_titles()
        writers = [self._cell_writer(column) for column in self.columns]
        indents = [self.workbook.add_format({"indent": depth}) for depth in range(8)]
        number = HEADER_ROWS
        for batch in self.table.rows.slice(0, fitting).to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                for place, (column, write) in enumerate(zip(self.columns, writers, strict=True)):
                    if column.name == "metric" and "depth" in row:
                        self.sheet.write_string(number, place, row["metric"], indents[min(row["depth"], 7)])
                    else:
                        write(number, place, row)
                number += 1
        self._finish(number)
        if fitting == rows:
            return []
        write_csv(self.table, self.overflow)
        return [self.overflow]

    def _write_bands(self, fitting: int, rows: int) -> None:
        titles = {
            "base": f"Base: {self.result.base.title}  {self.result.base.run['source_path']}",
            "comparison": f"Comparison: {self.result.comparison.title}  {self.result.comparison.run['source_path']}",
            "diff": "Comparison − Base",
            "ratio": "Comparison − Base",
            None: " — ".join([self.table.view.title, *([self.table.silence] if self.table.silence else [])]),
        }
        if fitting < rows:
            titles[None] = f"{fitting:,} of {rows:,} rows; all rows in {self.overflow.name}"
        start = 0
        names = [titles[units.prefix(column)] for column in self.columns]
        for place in range(1, len(names) + 1):
            if place < len(names) and names[place] == names[start]:
                continue
            style = self.workbook.add_format(
                {
                    "bold": True,
                    "bg_color": _BANDS[units.prefix(self.columns[start])],
                    "align": "left",
                    "border": 1,
                }
            )
            if place - start > 1:
                self.sheet.merge_range(0, start, 0, place - 1, "", style)
            self.sheet.write_string(0, start, names[start], style)
            start = place

    def _write_titles(self) -> None:
        for place, column in enumerate(self.columns):
            side = units.prefix(column)
            title = units.label(column, unit=True)
            title = f"Diff {title}" if side == "diff" else title
            style = self.workbook.add_format(
                {"bold": True, "bg_color": _BANDS[side], "text_wrap": True, "valign": "top", "border": 1}
            )
            self.sheet.write_string(1, place, title, style)
            self.sheet.set_column(place, place, _WIDTHS.get(column.type, 16))

    def _cell_writer(self, column: Column) -> Callable[[int, int, dict[str, Any]], Any]:
        style = (
            self.workbook.add_format({"num_format": _NUMBER_FORMATS[column.type]})
            if column.type in _NUMBER_FORMATS
            else None
        )
        divisor = units.COLUMN_UNITS.get(column.type, ("", 1))[1]
        is_ratio = units.prefix(column) == "ratio"

        def write(number: int, place: int, row: dict[str, Any]) -> None:
            value = row[column.name]
            if value is None and is_ratio:
                value = units.row_text(row, column) or None
            if value is None:
                return
            if isinstance(value, bool):
                self.sheet.write_boolean(number, place, value)
            elif isinstance(value, str) or abs(value) > _EXACT:
                self.sheet.write_string(number, place, _fitting(str(value)))
            else:
                self.sheet.write_number(number, place, value if divisor == 1 else value / divisor, style)

        return write

    def _finish(self, end: int) -> None:
        self.sheet.freeze_panes(HEADER_ROWS, 1)
        self.sheet.autofilter(1, 0, max(end - 1, 1), len(self.columns) - 1)
        worse = self.workbook.add_format({"font_color": "#9C0006", "bg_color": "#FFC7CE"})
        for place, column in enumerate(self.columns):
            if units.prefix(column) == "diff" and end > HEADER_ROWS:
                rule = {"type": "cell", "criteria": ">", "value": 0, "format": worse}
                self.sheet.conditional_format(HEADER_ROWS, place, end - 1, place, rule)


def write_csv(table: ResultTable, path: Path) -> None:
    """All rows of a table with exact values; text that a spreadsheet would evaluate is marked as text."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.rows.column_names)
        for batch in table.rows.to_batches(max_chunksize=10_000):
            writer.writerows([_harmless(value) for value in row.values()] for row in batch.to_pylist())


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def _fitting(text: str) -> str:
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 1] + "…"


def _write_about(workbook: xlsxwriter.Workbook, result: Comparison, overflow: list[Path]) -> None:
    sheet = workbook.add_worksheet("About")
    bold = workbook.add_format({"bold": True})
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 60)
    lines: list[tuple[str, str, str]] = [("", "Base", "Comparison")]
    for key in result.base.run:
        base, comparison = result.base.run[key], result.comparison.run[key]
        lines.append((key, "" if base is None else str(base), "" if comparison is None else str(comparison)))
    steps = ["whole run" if side.step is None else str(side.step) for side in (result.base, result.comparison)]
    lines.append(("step", steps[0], steps[1]))
    lines += [("catalog version", result.catalog_version, ""), ("catalog fingerprint", result.fingerprint, "")]
    lines += [(f"option {name}", value, "") for name, value in result.options.items() if value]
    lines += [("note", note, "") for note in result.notes]
    lines += [("rows beside this workbook", file.name, "") for file in overflow]
    for number, line in enumerate(lines):
        for place, value in enumerate(line):
            sheet.write_string(number, place, _fitting(value), bold if number == 0 or place == 0 else None)
