"""CSV files as batches of raw tables, by pyarrow's streaming reader: memory is bounded by its blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from pipeline.errors import InputError
from pipeline.extract.ascend.columns import Layout
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.containers import BlockFile
from pipeline.extract.means import Means
from pipeline.extract.report import Report

BLOCK_BYTES = 4 << 20


def read_csv(path: Path, layout: Layout, report: Report, means: Means) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of a CSV file, all cells read as text and typed by the layout.

    Rows with another number of cells than the header are dropped and counted; a file that ends inside a quoted cell is
    truncated; one without rows is reported. Raises InputError where the file has no header.
    """
    stream = ByteStream(path, means.progress)
    blocks = stream.blocks()
    file = io.BufferedReader(BlockFile(path, blocks), BLOCK_BYTES)
    names = _header(path, file.readline())

    def dropped(row: pyarrow.csv.InvalidRow) -> str:
        detail = f"{path.name}: {row.actual_columns} cells, not {row.expected_columns}"
        report.problem("row_dropped", detail=detail)
        return "skip"

    first = report.event_count
    try:
        for batch in _batches(file, names, dropped):
            columns = [_texts(column, path, report) for column in batch.columns]
            yield layout.table, layout.batch(names, columns, report.next_index)
            report.event_count += batch.num_rows
    except pa.ArrowInvalid as error:
        report.problem("truncated", detail=f"{path.name}: {error}")
    if report.event_count == first and not report.problems.keys() & {"row_dropped", "truncated"}:
        report.problem("empty_table", detail=path.name)
    for _ in blocks:
        pass  # what a damaged file leaves unread still belongs to the content
    report.read(stream.size, stream.content_hash)


def _batches(
    file: io.BufferedIOBase, names: list[str], dropped: Callable[[pyarrow.csv.InvalidRow], str]
) -> Iterator[pa.RecordBatch]:
    try:
        reader = pyarrow.csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=dropped),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.binary() for name in names}, check_utf8=False, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):  # a header without rows
            return
        raise
    yield from reader


def _header(path: Path, line: bytes) -> list[str]:
    """Names of the columns; one that comes twice gets a number."""
    cells = next(csv.reader([line.decode("utf-8-sig", "replace")]), [])
    names: list[str] = []
    for cell in (cell.strip() for cell in cells):
        names.append(cell if cell not in names else f"{cell} ({len(names)})")
    if len(names) < 2:
        raise InputError(f"{path}: not a table (no header with columns); export the profile again")
    return names


def _texts(column: pa.Array, path: Path, report: Report) -> list[str]:
    cells: list[bytes] = column.to_pylist()
    texts = [cell.decode("utf-8", "replace") for cell in cells]
    repaired = sum(text.encode() != cell for cell, text in zip(cells, texts, strict=True))
    if repaired:
        report.problem("text_repaired", repaired, detail=path.name)
    return texts
