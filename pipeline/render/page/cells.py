"""One cell of a page's table or tree: its text, its exact value, and its style.

`templates/rows.js` has the same rules, for the rows that the page's script draws; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from pipeline.catalog.header import Column
from pipeline.comparison.result import ResultTable
from pipeline.render import units
from pipeline.render.headline import CHART_UNITS
from pipeline.render.names import clipped

TEXT_TYPES = ("name", "text", "category", "flag")
EXACT_UNITS = {"duration_ns": " ns", "timestamp_ns": " ns", "bytes": " B", "bandwidth": " B/s"}


@dataclass(frozen=True)
class Cell:
    """One cell. `exact` is the value as SQL has it; None for text or without a value."""

    text: str
    exact: str | None
    style: str


def cell(row: dict[str, Any], column: Column, largest: int, *, is_tree: bool = False) -> Cell:
    """A row's cell. `largest` is the column's largest difference; `is_tree` says that depth indents the column."""
    value, text = row[column.name], units.row_text(row, column)
    if column.type in TEXT_TYPES:
        return Cell(clipped(text), None, text_style(column, is_tree))
    if isinstance(value, str) or value is None:
        return Cell(clipped(text), None, "mark" if text and value is None else "")
    return Cell(text, f"{value}{EXACT_UNITS.get(column.type, '')}", _shade(column, value, largest))


def text_style(column: Column, is_tree: bool) -> str:
    """The CSS class of a text cell."""
    return "tree" if is_tree else "name" if column.type == "name" else "text"


def largest_difference(table: ResultTable, column: Column) -> int:
    """The largest difference of a column, relative to which its cells are shaded; 0 if it has no shading."""
    if units.prefix(column) != "diff" or column.type not in CHART_UNITS:
        return 0
    return pc.max(pc.abs(table.rows[column.name])).as_py() or 0


def _shade(column: Column, value: Any, largest: int) -> str:
    worse = units.is_worse(column, value)
    if worse is None:
        return ""
    strength = 3 if 2 * abs(value) >= largest else 2 if 10 * abs(value) >= largest else 1
    return f"{'worse' if worse else 'better'}{strength}"
