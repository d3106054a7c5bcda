"""A comparison as one HTML page: it needs no other file and no network, and is smaller than MAX_BYTES.

The page contains all rows that fit, packed. The first ones are plain HTML, too, for readers without scripts. What it
shows follows only from views and columns. Names come from traces and may be hostile: Jinja escapes text, scripts put it
into text nodes, `names.chart_text` cleans names in charts, and the page's policy allows only its own scripts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

from isal import igzip
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.catalog.header import Column, View
from pipeline.comparison.result import Comparison, ResultTable, Side
from pipeline.render import units
from pipeline.render.headline import Headline, depth_column, headlines, indented
from pipeline.render.names import clipped
from pipeline.render.page.cells import TEXT_TYPES, Cell, cell, largest_difference
from pipeline.render.page.rows import PACKED_BYTES, PackedRows, packed, ranked
from pipeline.render.page.tree import Node, Tree, tree
from pipeline.version import VERSION

# The most that plain HTML may take, charts and trees included; packed rows come on top.
PLAIN_BYTES = 6_000_000
MAX_BYTES = PLAIN_BYTES + PACKED_BYTES
# Plain HTML rows per table: the first of these limits that keeps the page's plain HTML below PLAIN_BYTES.
PLAIN_ROWS = (100, 50, 20, 5, 0)
# A headline table keeps this many rows whatever the other tables take: each device gets its sentence and chart.
_HEADLINE_ROWS = 100
# A tree shows more nodes than its table has plain rows, since most nodes are closed.
_NODES_PER_ROW = 20
_TEMPLATES = Path(__file__).with_name("templates")
_BANDS = {"base": "base", "comparison": "comparison", "diff": "diff", "ratio": "diff", None: ""}
# Bands from left to right. Differences come right after the names, so that a wide table shows them without scrolling.
_PLACES = {"diff": 1, "base": 2, "comparison": 3}


def write_html(result: Comparison, path: Path) -> Iterator[Path]:
    """Write the page with as many rows of each table as fit, and yield its path. The page says what is left out."""
    tables = {name: replace(table, rows=ranked(table)) for name, table in result.tables.items()}
    columns = {name: _columns(table) for name, table in tables.items()}
    rows = packed(tables, columns)
    for limit in PLAIN_ROWS:
        sections = [
            _section(table, columns[name], rows[name], tree(result.tables[name], _NODES_PER_ROW * limit), path, limit)
            for name, table in tables.items()
        ]
        page = _page(result, sections, limit).encode("utf-8", "replace")
        if len(page) - sum(len(section.packed.text) for section in sections) < PLAIN_BYTES:
            break
    path.write_bytes(page)
    yield path


def prepare() -> None:
    """Prepare what is the same for every page, ahead of `write_html`: it takes longer than writing the rows."""
    _plotly()
    for name in _environment().list_templates(extensions=["j2"]):
        _environment().get_template(name)


def _page(result: Comparison, sections: list[_Section], limit: int) -> str:
    script = "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("rows.js", "page.js"))
    library = _plotly() if any(section.has_chart for section in sections) else None
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            result=result,
            version=VERSION,
            facts=list(_facts(result)),
            notes=[clipped(note) for note in result.notes],
            options={name: value for name, value in result.options.items() if value},
            sections=sections,
            plain_rows=limit,
            style=(_TEMPLATES / "page.css").read_text(encoding="utf-8"),
            script=script,
            library=library,
            script_hashes=[_csp_hash(script.encode()), *([library.csp_hash] if library else [])],
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True)
class _Library:
    """plotly.js, packed: unpacked, it would be most of a page."""

    packed: str
    csp_hash: str


@cache
def _plotly() -> _Library:
    # Read as a file, since importing plotly's own accessor takes longer than a whole comparison.
    code = (resources.files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    packed = base64.b64encode(igzip.compress(code, mtime=0)).decode()
    return _Library(packed, _csp_hash(code))


def _csp_hash(script: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script).digest()).decode()


def _facts(result: Comparison) -> Iterator[tuple[str, str, str]]:
    """What was compared, as rows of (fact, base, comparison)."""
    sides = (result.base, result.comparison)

    def both(name: str, values: Iterator[str]) -> tuple[str, str, str]:
        base, comparison = values
        return name, base, comparison

    yield both("Device", (side.device or "unknown" for side in sides))
    yield both("Trace", (side.source for side in sides))
    yield both("Scope", (_scope(side) for side in sides))
    yield both("Recorded", (_recorded(side) for side in sides))


def _scope(side: Side) -> str:
    steps = f"{side.step_count:,} step{'' if side.step_count == 1 else 's'} recorded"
    complete = side.complete_step_count
    if complete is not None and complete < side.step_count:
        steps += f", {complete:,} complete"
    return f"{side.scope}, {steps}"


def _recorded(side: Side) -> str:
    return f"{side.event_count:,} events, {side.activity_count:,} device activities"


@dataclass(frozen=True)
class _Heading:
    """The heading of one column, as shown."""

    label: str
    meaning: str
    band: str
    is_text: bool
    order: str


@dataclass(frozen=True)
class _Section:
    """One table, as shown. `rows` has the first rows as (depth in the tree or None, cells), `packed` all that fit."""

    view: View
    packed: PackedRows
    row_count: int
    headings: list[_Heading]
    bands: list[tuple[str, int]]
    rows: list[tuple[int | None, list[Cell]]]
    headlines: list[Headline]
    remarks: list[str]
    tree: Tree | None
    nodes: list[tuple[Node, list[Cell]]]

    @property
    def has_chart(self) -> bool:
        """Is there anything for plotly to draw?"""
        return any(headline.figure for headline in self.headlines) or bool(self.tree and self.tree.figure)


def _section(
    table: ResultTable, columns: list[Column], rows_of: PackedRows, shown: Tree | None, path: Path, limit: int
) -> _Section:
    headings = [_heading(table, column) for column in columns]
    if table.view.headline and limit:
        limit = max(limit, _HEADLINE_ROWS)
    rows = table.rows.slice(0, limit).to_pylist()
    return _Section(
        view=table.view,
        packed=rows_of,
        row_count=table.rows.num_rows,
        headings=headings,
        bands=[(band, len(list(group))) for band, group in groupby(heading.band for heading in headings)],
        rows=list(_rows(table, columns, rows)),
        headlines=list(headlines(table.view, rows)) if table.view.headline else [],
        remarks=list(_remarks(table, path, rows_of.count)),
        tree=shown,
        nodes=[(node, list(_figures(shown, node))) for node in shown.nodes] if shown else [],
    )


def _figures(shown: Tree, node: Node) -> Iterator[Cell]:
    for column in shown.columns:
        yield cell(node.row, column, shown.largest)


def _columns(table: ResultTable) -> list[Column]:
    """The columns to show: not those that only place a row, since order and indentation do that already."""
    is_tree = depth_column(table.view) is not None

    def tells(column: Column) -> bool:
        if column.type == "depth" or (is_tree and column.name in table.view.places):
            return False
        if column.type == "category" and table.view.headline:
            return False  # the headline's sentence has it
        if column.type != "id" or units.prefix(column):
            return True
        return column.name in table.view.grain and (table.varies(column) or not table.rows.num_rows)

    return _in_bands([column for column in table.columns if tells(column)])


def _in_bands(columns: list[Column]) -> list[Column]:
    """Order columns: keys, then band by band, each ratio after its difference, then columns after the bands."""
    stems = [column.name.split("_", 1)[1] if units.prefix(column) else column.name for column in columns]
    first = next((place for place, column in enumerate(columns) if units.prefix(column)), len(columns))

    def key(place: int) -> tuple[int, int]:
        band = _BANDS[units.prefix(columns[place])]
        if not band:
            return (0 if place < first else 4), place
        return _PLACES[band], stems.index(stems[place]) if band == "diff" else place

    return [columns[place] for place in sorted(range(len(columns)), key=key)]


def _heading(table: ResultTable, column: Column) -> _Heading:
    name, _, direction = table.view.order.split(",")[0].partition(" ")
    order = ("descending" if direction.startswith("desc") else "ascending") if name == column.name else "none"
    if table.rank:
        order = "other" if column is table.rank else "none"  # ranked by size, in either direction
    return _Heading(units.label(column), column.meaning, _BANDS[units.prefix(column)], column.type in TEXT_TYPES, order)


def _rows(
    table: ResultTable, columns: list[Column], rows: list[dict[str, Any]]
) -> Iterator[tuple[int | None, list[Cell]]]:
    depth, named = indented(table.view) or (None, None)
    largest = {column.name: largest_difference(table, column) for column in columns}
    for row in rows:
        cells = [cell(row, c, largest[c.name], is_tree=c is named) for c in columns]
        yield row[depth.name] if depth else None, cells


def _remarks(table: ResultTable, path: Path, shown: int) -> Iterator[str]:
    """Remarks on a table: a side without figures, rows left out."""
    count = table.rows.num_rows
    if table.silence:
        yield table.silence
    if shown < count:
        chosen = "those with the largest differences" if table.rank else "the first ones"
        yield (
            f"{shown:,} of {count:,} rows are on this page, {chosen}; all rows are in {_place(table, path)}."
            " Sorting and filtering apply to the rows on this page."
        )


def _place(table: ResultTable, path: Path) -> str:
    """Where all rows of a table are: in a file next to the page, or in the warehouse."""
    workbook, beside = path.with_suffix(".xlsx"), path.with_name(f"{path.stem}.{table.view.sheet}.csv")
    if table.view.sheet and beside.exists():
        return beside.name
    return f"the workbook {workbook.name}" if table.view.sheet and workbook.exists() else table.view.qualified
