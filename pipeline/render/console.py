"""A comparison on screen: the headline first, then each view's figures or its top regressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pipeline.catalog.header import Column
from pipeline.comparison.result import DESCRIPTIONS, Comparison, ResultTable, Side
from pipeline.render import units
from pipeline.render.headline import depth_column, headlines, indented
from pipeline.render.tabular import console

_KEY_TYPES = ("name", "text", "category")
_TEXT_TYPES = (*_KEY_TYPES, "id", "flag")
_NAME_WIDTH = 28
_PADDING = 3
_TONES = {"worse": "bold red", "better": "bold green", "same": "bold"}
_LEFT: dict[str, Any] = {"title_justify": "left", "caption_justify": "left", "title_style": "bold"}


def print_comparison(result: Comparison, out: TextIO, top: int = 10) -> None:
    """Print a comparison. A table whose rows rank by a difference shows its `top` largest regressions."""
    screen = console(out)
    for name, side in (("base", result.base), ("comparison", result.comparison)):
        screen.print(Text.assemble((f"{name:<11}", "bold"), _about(side)), soft_wrap=True)
    for note in result.notes:
        screen.print(Text(units.printable("note: " + note), style="yellow"), soft_wrap=True)
    for table in result.tables.values():
        if table.view.detail and not result.options.get("only"):
            continue  # tables with one row per call are for the workbook and the page
        screen.print()
        if table.view.headline:
            _print_verdict(screen, table)
        _print_table(screen, table, top)


def print_rows(table: ResultTable, out: TextIO) -> None:
    """Print every row of a view with units; the columns are those of its @listed."""
    columns = [column for name in table.view.listed for column in table.view.columns if column.name == name]
    shown = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        shown.add_column(
            units.label(column).capitalize(), justify="left" if column.type in _TEXT_TYPES else "right", overflow="fold"
        )
    for row in table.rows.to_pylist():
        shown.add_row(*(Text(units.printable(units.row_text(row, column))) for column in columns))
    console(out).print(shown)


def _about(side: Side) -> str:
    facts = [
        side.device or "unknown device",
        f"{side.event_count:,} events",
        f"{side.activity_count:,} device activities",
    ]
    path, here = Path(side.source), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return units.printable(f"{side.title}  ({', '.join(facts)})  {shown}")


def _print_verdict(screen: Console, table: ResultTable) -> None:
    """Print one sentence for each headline that both sides have a figure for."""
    for headline in headlines(table.view, table.rows.to_pylist()):
        if headline.diff is not None:
            screen.print(Text(units.printable(headline.sentence), style=_TONES[headline.tone]), soft_wrap=True)


def _print_table(screen: Console, table: ResultTable, top: int) -> None:
    if table.silence:
        screen.print(Text.assemble((table.view.title, "bold"), f": {table.silence}"), soft_wrap=True)
    if not table.rows.num_rows:
        return
    rows, caption = _chosen(table, top)
    if not rows:
        if table.rank is None or table.compares(table.rank):
            said = f": no regression among {table.rows.num_rows:,} rows"
            screen.print(Text.assemble((table.view.title, "bold"), said))
        return
    fields, name_width = _fitting(screen.width, _shown(table), rows)
    shown = Table(title=escape(table.view.title), caption=caption, box=box.SIMPLE_HEAD, **_LEFT)
    for field in fields:
        if field.is_key:
            shown.add_column(field.heading, overflow="ellipsis", no_wrap=True, max_width=name_width)
        else:
            shown.add_column(field.heading, justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(*(_cell(row, field, name_width) for field in fields))
    screen.print(shown)


@dataclass(frozen=True)
class _Field:
    """A column of a table on screen: one column of the view, or the two that name a row on either side."""

    columns: tuple[Column, ...]
    depth: Column | None = None
    is_path: bool = False

    @property
    def column(self) -> Column:
        """The column that determines the type of value."""
        return self.columns[0]

    @property
    def is_key(self) -> bool:
        """Does it name a row?"""
        return self.column.type in _KEY_TYPES

    @property
    def heading(self) -> str:
        """The title of the column on screen."""
        side = units.prefix(self.column)
        if side in ("base", "comparison") and not self.is_key:
            return f"{side} calls" if self.column.type == "count" else side
        return units.label(self.column).capitalize() if self.is_key else side or units.label(self.column).capitalize()

    def text(self, row: dict[str, Any]) -> str:
        """The text in a row; both names if they differ."""
        texts = dict.fromkeys(units.row_text(row, column) for column in self.columns)
        return units.printable(" → ".join(text for text in texts if text))


def _fitting(width: int, fields: list[_Field], rows: list[dict[str, Any]]) -> tuple[list[_Field], int]:
    """The columns that fit, and the width left for each column of names. Numbers are shown in full or not at all."""
    fields = list(fields)
    while True:
        numbers = [field for field in fields if not field.is_key]
        names = max(1, len(fields) - len(numbers))
        texts = ([field.heading, *(field.text(row) for row in rows)] for field in numbers)
        taken = sum(max(map(len, cells)) + _PADDING for cells in texts)
        left = (width - taken - 2) // names - _PADDING
        droppable = [field for field in fields[1:] if field.column.type in ("count", "share", "text")]
        if left >= _NAME_WIDTH or not droppable:
            return fields, max(8, left)
        fields.remove(droppable[-1])


def _chosen(table: ResultTable, top: int) -> tuple[list[dict[str, Any]], str | None]:
    """The rows to show, with a caption: the largest regressions if rows rank by a difference, else all rows.

    Of a table with one row per call, the first rows are shown.
    """
    rank, count = table.rank, table.rows.num_rows
    if rank is None:
        if table.view.detail and count > top:
            return table.rows.slice(0, top).to_pylist(), f"first {top} of {count:,} rows"
        return table.rows.to_pylist(), None
    worst = table.rows.take(pc.sort_indices(table.rows[rank.name], sort_keys=[("", "descending")])).slice(0, top)
    worse = [row for row in worst.to_pylist() if (row[rank.name] or 0) > 0]
    return worse, f"top regressions, {len(worse)} of {count:,} rows" if worse else None


def _shown(table: ResultTable) -> list[_Field]:
    """The columns to show: keys, the first measure that both sides have figures for, its count, and shares."""
    own = _keys(table)
    tree = indented(table.view)
    paths = table.view.path
    shown = [_Field((column,), tree[0] if tree and column is tree[1] else None, column.name in paths) for column in own]
    named = {column.name for column in own}
    for measure in units.measures(table.view):  # rows that have a name of their own on each side
        if measure.base.type == "name" and measure.name not in named:
            shown.append(_Field((measure.base, measure.comparison), is_path=measure.base.name in paths))
    chosen = [measure for measure in units.measures(table.view) if measure.base.type not in DESCRIPTIONS]
    differing = [measure for measure in chosen if measure.diff and measure.base.type != "count"] or chosen
    main = next((m for m in differing if m.diff and table.compares(m.diff)), differing[0])
    shown += [_Field((c,)) for c in (main.base, main.comparison, *_present(main.diff, main.ratio))]
    shown += [
        _Field((c,)) for m in chosen if m is not main and m.name == table.view.counted for c in (m.base, m.comparison)
    ]
    return shown + [_Field((c,)) for c in table.columns if c.type == "share" and not units.prefix(c)]


def _keys(table: ResultTable) -> list[Column]:
    """Names and texts of rows and, if several rows share them, the columns that distinguish these, such as a device."""
    own = [column for column in table.columns if not units.prefix(column) and not _places(table, column)]
    names = [column for column in own if column.type in ("name", "text")]
    grain = [column for column in own if column.name in table.view.grain]
    if not any(column.type == "name" for column in table.columns):
        return grain
    texts = table.rows.select([column.name for column in names])
    if len(grain) == 1 or texts.group_by(texts.column_names).aggregate([]).num_rows == texts.num_rows:
        return names
    apart = [column for column in grain if column.type in ("id", "category") and table.varies(column)]
    return [column for column in own if column in names or column in apart]


def _places(table: ResultTable, column: Column) -> bool:
    """Does a column only place a row in a tree, as its indentation does?"""
    return depth_column(table.view) is not None and column.name in table.view.places


def _present(*columns: Column | None) -> Iterator[Column]:
    return (column for column in columns if column is not None)


def _cell(row: dict[str, Any], field: _Field, width: int) -> Text:
    cell, column = field.text(row), field.column
    if field.is_key:
        cell = "  " * (row[field.depth.name] or 0) + cell if field.depth else cell
        if field.is_path and len(cell) > width:  # modules differ in the end of their paths
            mark = cell[: cell.find("/")]
            cell = f"{mark}…{cell[len(mark) + 1 - width :]}"
        return Text(cell)
    worse = units.is_worse(column, row[column.name])
    return Text(cell, style="" if worse is None else "red" if worse else "green")
