"""A comparison as a workbook: xlsxwriter lays it out, rows are streamed in batches.

Numbers stay numbers, with the unit in the column's title. Text is never taken for a formula or a link.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import xlsxwriter

from pipeline.catalog.header import Column
from pipeline.comparison.result import Comparison, ResultTable
from pipeline.render import units
from pipeline.render.headline import indented
from pipeline.render.marks import marks
from pipeline.render.tabular import harmless
from pipeline.render.workbook.rows import SheetRows, flags, numbers, pack, rows_text, texts

SHEET_ROWS = 1_048_576
HEADER_ROWS = 2
_BATCH_ROWS = 2_000
# Roughly the bytes of a cell in a sheet, apart from its text.
_CELL_BYTES = 60
_INDENTS = 8
# With this format, text stays text even after a user edits the cell.
_TEXT_FORMAT = "@"
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
    """Write every table that has a sheet, and the sheet About; yield the paths of the workbook and of CSV files.

    A sheet on which not all rows fit says so, and a CSV file next to the workbook has all of them.
    """
    frame = io.BytesIO()
    overflow: list[Path] = []
    with xlsxwriter.Workbook(frame, {"in_memory": True}) as workbook:
        filled = []
        for table in result.tables.values():
            if table.view.sheet:
                sheet = _Sheet(workbook, result, table, path)
                filled.append(sheet.write())
                if not sheet.fits:
                    write_csv(table, sheet.overflow)
                    overflow.append(sheet.overflow)
        filled.append(_write_about(workbook, result, overflow))
    pack(frame, dict(enumerate(filled, start=1)), path)
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
        self.row_count = min(table.rows.num_rows, SHEET_ROWS - HEADER_ROWS)

    @property
    def fits(self) -> bool:
        """Are all rows on the sheet?"""
        return bool(self.row_count == self.table.rows.num_rows)

    def write(self) -> SheetRows:
        """Write everything but the rows, which are returned for `pack`."""
        self._write_bands()
        self._write_titles()
        self._write_styles()
        self._finish(HEADER_ROWS + self.row_count)
        last = HEADER_ROWS + self.row_count - 1, len(self.columns) - 1
        size = self.table.rows.nbytes + _CELL_BYTES * self.row_count * len(self.columns)
        return SheetRows(HEADER_ROWS, last, size, self._rows)

    def _rows(self, styles: list[str]) -> Iterator[pa.Buffer]:
        number = HEADER_ROWS
        for batch in self.table.rows.slice(0, self.row_count).to_batches(max_chunksize=_BATCH_ROWS):
            yield rows_text(
                number,
                (
                    (self._style(styles, place, batch), _contents(batch, column))
                    for place, column in enumerate(self.columns)
                ),
            )
            number += len(batch)

    def _write_styles(self) -> None:
        """Write a row with a blank cell of each column's format, then of each indentation; the rows replace it."""
        properties: list[dict[str, str | int]] = [
            {"num_format": _NUMBER_FORMATS.get(column.type, _TEXT_FORMAT)} for column in self.columns
        ]
        properties += [{"num_format": _TEXT_FORMAT, "indent": depth} for depth in range(_INDENTS)]
        for place, style in enumerate(properties):
            self.sheet.write_blank(HEADER_ROWS, place, None, self.workbook.add_format(style))

    def _style(self, styles: list[str], place: int, batch: pa.RecordBatch) -> pa.Array | str:
        """A column's style, or for the names of a tree, each row's by its indentation."""
        tree = indented(self.table.view)
        if tree is None or self.columns[place] is not tree[1]:
            return styles[place]
        return pa.array(styles[-_INDENTS:]).take(pc.min_element_wise(batch[tree[0].name], _INDENTS - 1))

    def _write_bands(self) -> None:
        titles = {
            "base": f"Base: {self.result.base.title}  {self.result.base.source}",
            "comparison": f"Comparison: {self.result.comparison.title}  {self.result.comparison.source}",
            "diff": "Comparison − Base",
            "ratio": "Comparison − Base",
            None: " — ".join([self.table.view.title, *([self.table.silence] if self.table.silence else [])]),
        }
        if not self.fits:
            rows = self.table.rows.num_rows
            titles[None] = f"{self.row_count:,} of {rows:,} rows; all rows in {self.overflow.name}"
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

    def _finish(self, end: int) -> None:
        self.sheet.freeze_panes(HEADER_ROWS, 1)
        self.sheet.autofilter(1, 0, max(end - 1, 1), len(self.columns) - 1)
        worse = self.workbook.add_format({"font_color": "#9C0006", "bg_color": "#FFC7CE"})
        for place, column in enumerate(self.columns):
            if units.prefix(column) == "diff" and end > HEADER_ROWS:
                rule = {"type": "cell", "criteria": ">", "value": 0, "format": worse}
                self.sheet.conditional_format(HEADER_ROWS, place, end - 1, place, rule)


def _contents(batch: pa.RecordBatch, column: Column) -> pa.Array:
    """Cells of a column: values in the unit of its title, and marks such as `new` in place of undefined ratios."""
    values = batch[column.name]
    if pa.types.is_string(values.type):
        return texts(values)
    if pa.types.is_boolean(values.type):
        return flags(values)
    found = numbers(values, units.COLUMN_UNITS.get(column.type, ("", 1))[1])
    return pc.coalesce(found, texts(marks(batch, column))) if units.prefix(column) == "ratio" else found


def write_csv(table: ResultTable, path: Path) -> None:
    """Write all rows of a table with exact values; text that a spreadsheet would evaluate gets an apostrophe."""
    with path.open("wb") as file:
        file.write(b"\xef\xbb\xbf")  # the byte order mark, by which spreadsheets recognize UTF-8
        with pacsv.CSVWriter(file, table.rows.schema) as writer:
            for batch in table.rows.to_batches(max_chunksize=_BATCH_ROWS):
                columns = [harmless(column) for column in batch.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=batch.schema))


def _write_about(workbook: xlsxwriter.Workbook, result: Comparison, overflow: list[Path]) -> SheetRows:
    sheet = workbook.add_worksheet("About")
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 60)
    lines = list(_about(result, overflow))
    for place, bold in enumerate((False, True)):
        sheet.write_blank(0, place, None, workbook.add_format({"num_format": _TEXT_FORMAT, "bold": bold}))

    def rows(styles: list[str]) -> Iterator[pa.Buffer]:
        plain, bold = styles
        first = pa.array([bold] + [plain] * (len(lines) - 1))
        columns = [texts(pa.array(column, pa.string())) for column in zip(*lines, strict=True)]
        yield rows_text(0, zip((bold, first, first), columns, strict=True))

    return SheetRows(0, (len(lines) - 1, 2), 0, rows)


def _about(result: Comparison, overflow: list[Path]) -> Iterator[tuple[str | None, str | None, str | None]]:
    """What was compared and how, as rows of (fact, base, comparison)."""
    yield None, "Base", "Comparison"
    for key in result.base.run:
        base, comparison = result.base.run[key], result.comparison.run[key]
        yield key, None if base is None else str(base), None if comparison is None else str(comparison)
    yield "scope", result.base.scope, result.comparison.scope
    yield "catalog version", result.catalog_version, None
    yield "catalog fingerprint", result.fingerprint, None
    yield from ((f"option {name}", value, None) for name, value in result.options.items() if value)
    yield from (("note", note, None) for note in result.notes)
    yield from (("CSV with all rows", file.name, None) for file in overflow)
