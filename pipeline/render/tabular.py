"""Writes Arrow rows as CSV, JSON, Markdown or a plain table, batch by batch."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.render.units import printable

# Characters, in either width, that spreadsheets take for the start of a formula; they skip tabs and line breaks.
_FORMULA = r"\A([=+\-@\t\r\n＝＋－＠])"


def harmless(values: pa.Array) -> pa.Array:
    """Values of a CSV column; text that a spreadsheet would evaluate gets an apostrophe in front."""
    return pc.replace_substring_regex(values, _FORMULA, r"'\1") if pa.types.is_string(values.type) else values


def write_csv(rows: pa.Table, out: TextIO) -> None:
    """Comma-separated values with a header. NULL is empty; text that looks like a formula gets an apostrophe."""
    plain = csv.writer(out, lineterminator="\n")
    quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(rows.column_names)
    for batch in rows.to_batches():
        columns = [harmless(column) for column in batch.columns]
        # Before Python 3.13, the csv module does not quote a return that is not part of its own line terminator.
        writer = quoted if any(_has_return(column) for column in columns) else plain
        writer.writerows(zip(*(column.to_pylist() for column in columns), strict=True))


def _has_return(values: pa.Array) -> bool:
    return pa.types.is_string(values.type) and bool(pc.any(pc.match_substring(values, "\r")).as_py())


def write_json(rows: pa.Table, out: TextIO) -> None:
    """One JSON array of objects, one row per line. NULL is null, and integers are exact."""
    separator = "["
    for batch in rows.to_batches():
        for row in batch.to_pylist():
            out.write(separator + json.dumps(row, ensure_ascii=False, default=str))
            separator = ",\n "
    out.write("[]\n" if separator == "[" else "]\n")


def write_markdown(rows: pa.Table, out: TextIO) -> None:
    """A GitHub-flavoured Markdown table."""
    out.write("| " + " | ".join(map(_markdown, rows.column_names)) + " |\n")
    out.write("|" + " --- |" * rows.num_columns + "\n")
    for batch in rows.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            out.write("| " + " | ".join(_markdown(value) for value in row) + " |\n")


def write_table(rows: pa.Table, out: TextIO) -> None:
    """A table for a terminal."""
    table = Table()
    for field in rows.schema:
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        table.add_column(Text(field.name), justify="right" if numeric else "left", overflow="fold")
    for row in rows.to_pylist():
        table.add_row(*(Text("" if row[name] is None else printable(str(row[name]))) for name in rows.column_names))
    console(out).print(table)


def console(out: TextIO) -> Console:
    """A console on a stream: as wide as the terminal, or 160 characters in a pipe."""
    found = Console(file=out, highlight=False, soft_wrap=False)
    return found if found.is_terminal else Console(file=out, highlight=False, width=160)


def _markdown(value: Any) -> str:
    return "" if value is None else str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


WRITERS: dict[str, Callable[[pa.Table, TextIO], None]] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "markdown": write_markdown,
}
