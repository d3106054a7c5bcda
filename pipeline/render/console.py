"""A comparison on the screen: the headline first, then each view's figures or its top regressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pipeline.catalog.header import Column
from pipeline.render import units
from pipeline.render.headline import headlines
from pipeline.render.tabular import console
from pipeline.result import Comparison, ResultTable, Side

_KEY_TYPES = ("name", "text", "category")
_TEXT_TYPES = (*_KEY_TYPES, "id", "flag")
_NAME_WIDTH = 28
_PADDING = 3
_TONES = {"worse": "bold red", "better": "bold green", "same": "bold"}
_LEFT: dict[str, Any] = {"title_justify": "left", "caption_justify": "left", "title_style": "bold"}


def print_comparison(result: Comparison, out: TextIO, top: int = 10) -> None:
    """Print a comparison; views in order of a difference show their `top` largest regressions."""
    screen = console(out)
    for name, side in (("base", result.base), ("comparison", result.comparison)):
        screen.print(Text.assemble((f"{name:<11}", "bold"), _about(side)), soft_wrap=True)
    for note in result.notes:
        screen.print(Text(units.printable("note: " + note), style="yellow"), soft_wrap=True)
    for table in result.tables.values():
        if table.view.detail and not result.options.get("only"):
            continue  # a row per call is for the workbook and the page
        screen.print()
        if table.view.headline:
            _print_verdict(screen, table)
        _print_table(screen, table, top)


def print_rows(table: ResultTable, names: Sequence[str], out: TextIO) -> None:
    """Print some columns of a view, every row, with units."""
    columns = [next(column for column in table.view.columns if column.name == name) for name in names]
    shown = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        shown.add_column(
            units.label(column).capitalize(), justify="left" if column.type in _TEXT_TYPES else "right", overflow="fold"
        )
    for row in table.rows.to_pylist():
        shown.add_row(*(Text(units.printable(units.row_text(row, column))) for column in columns))
    console(out).print(shown)


def _about(side: Side) -> str:
    run = side.run
    facts = [
        run["device_name"] or "unknown device",
        f"{run['event_count']:,} events",
        f"{run['device_activity_count']:,} device activities",
    ]
    path, here = Path(run["source_path"]), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return units.printable(f"{side.title}  ({', '.join(facts)})  {shown}")


def _print_verdict(screen: Console, table: ResultTable) -> None:
    """One sentence for each root row of a headline that both sides measured."""
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
        screen.print(Text.assemble((table.view.title, "bold"), f": no regression among {table.rows.num_rows:,} rows"))
        return
    columns, name_width = _fitting(screen.width, _shown(table), rows)
    shown = Table(title=escape(table.view.title), caption=caption, box=box.SIMPLE_HEAD, **_LEFT)
    for column in columns:
        if column.type in _KEY_TYPES:
            shown.add_column(_heading(column), overflow="ellipsis", no_wrap=True, max_width=name_width)
        else:
            shown.add_column(_heading(column), justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(*(_cell(row, column, name_width) for column in columns))
    screen.print(shown)


def _fitting(width: int, columns: list[Column], rows: list[dict[str, Any]]) -> tuple[list[Column], int]:
    """Columns that fit, and the width left for each column of names: numbers are shown whole or not at all."""
    columns = list(columns)
    while True:
        numbers = [column for column in columns if column.type not in _KEY_TYPES]
        names = max(1, len(columns) - len(numbers))
        texts = ([_heading(column), *(units.row_text(row, column) for row in rows)] for column in numbers)
        taken = sum(max(map(len, cells)) + _PADDING for cells in texts)
        left = (width - taken - 2) // names - _PADDING
        droppable = [column for column in columns[1:] if column.type in ("count", "share", "text")]
        if left >= _NAME_WIDTH or not droppable:
            return columns, max(8, left)
        columns.remove(droppable[-1])


def _chosen(table: ResultTable, top: int) -> tuple[list[dict[str, Any]], str | None]:
    """Rows to show: the largest regressions where the order is by a difference, or of a model's parts; else all, or the
    first of a detail.
    """
    by_difference, rows = table.view.order.split(" ")[0], table.rows
    if by_difference == "row_order":
        by_difference = next(measure.diff.name for measure in units.measures(table.view) if measure.diff)
        rows = rows.sort_by([(by_difference, "descending"), ("row_order", "ascending")])
    if not by_difference.startswith("diff_"):
        if table.view.detail and rows.num_rows > top:
            return rows.slice(0, top).to_pylist(), f"first {top} of {rows.num_rows:,} rows"
        return rows.to_pylist(), None
    worse = [row for row in rows.slice(0, top).to_pylist() if (row[by_difference] or 0) > 0]
    return worse, f"top regressions, {len(worse)} of {table.rows.num_rows:,} rows" if worse else None


def _shown(table: ResultTable) -> list[Column]:
    """Keys, the first quantity on both sides, and how often it was counted."""
    shown: list[Column] = [
        c for c in table.columns if c.type in _KEY_TYPES and not units.prefix(c) and c.name not in _HIDDEN
    ]
    chosen = units.measures(table.view)
    main = next((m for m in chosen if m.diff), chosen[0])
    shown += [main.base, main.comparison, *_present(main.diff, main.ratio)]
    shown += [c for m in chosen if m is not main and m.name == "call_count" for c in (m.base, m.comparison)]
    shown += [c for c in table.columns if c.type == "share" and not units.prefix(c)]
    return shown


_HIDDEN = ("parent_metric", "scope", "kernel_class", "call_kind", "matched_by")


def _present(*columns: Column | None) -> Iterator[Column]:
    return (column for column in columns if column is not None)


def _heading(column: Column) -> str:
    side = units.prefix(column)
    if side in ("base", "comparison"):
        return f"{side} calls" if column.type == "count" else side
    return side or units.label(column).capitalize()


def _cell(row: dict[str, Any], column: Column, width: int) -> Text:
    cell = units.printable(units.row_text(row, column))
    if column.type in _KEY_TYPES:
        cell = "  " * (row.get("depth") or 0) + cell if column.name == "metric" else cell
        if column.name.endswith("module_name") and len(cell) > width:  # the end of a path tells modules apart
            mark = cell[: cell.find("/")]
            cell = f"{mark}…{cell[len(mark) + 1 - width :]}"
        return Text(cell)
    worse = units.is_worse(column, row[column.name])
    return Text(cell, style="" if worse is None else "red" if worse else "green")
