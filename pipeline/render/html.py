"""A comparison as one HTML page: no file beside it, no request to any network, below MAX_BYTES.

What a page shows follows from views and columns alone. Names come from traces and are hostile: text goes through
Jinja's escaping, names in charts through `html.escape`, and a policy in the page allows its own scripts only.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline import __version__
from pipeline.catalog.header import Column, View
from pipeline.render import units
from pipeline.result import Comparison, ResultTable, Side

MAX_BYTES = 6_000_000
# Rows of a table: the first of these with which the page stays below MAX_BYTES.
ROW_LIMITS = (500, 250, 100, 50, 20, 5, 0)
# A headline keeps this many whatever the size of the other tables, so that each device has its sentence and chart.
_HEADLINE_ROWS = 100
# Characters of one text: mangled kernel names stay whole, a name of a megabyte does not.
TEXT_LIMIT = 2_000
# Characters that would turn the text around them (or end it, for some readers) without being seen.
_UNSEEN = dict.fromkeys([0, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
_TEMPLATES = Path(__file__).with_name("templates")
_TEXT_TYPES = ("name", "text", "category", "flag")
_BANDS = {"base": "base", "comparison": "comparison", "diff": "diff", "ratio": "diff", None: ""}
# Bands from left to right: the difference stands beside the names, where a wide table needs no scrolling to it.
_PLACES = {"diff": 1, "base": 2, "comparison": 3}
# Unit and divisor of a chart's axis; other quantities do not add up to a whole and get no chart.
_CHART_UNITS = {"duration_ns": ("ms", 1_000_000), "bytes": ("MiB", 1 << 20)}
_VERDICTS = {"duration_ns": ("slower", "faster"), "bytes": ("more", "less")}
_COLOURS = {"worse": "#cf4a3f", "better": "#2c9a6a", "total": "#6c82ab", "line": "#8a93a3"}


def write_html(result: Comparison, path: Path) -> Path:
    """Write the page, with as many rows of each table as fit; where rows are left out, the page says so."""
    for limit in ROW_LIMITS:
        page = _page(result, path, limit).encode("utf-8", "replace")
        if len(page) < MAX_BYTES:
            break
    path.write_bytes(page)
    return path


def _page(result: Comparison, path: Path, limit: int) -> str:
    sections = [_section(table, path, limit) for table in result.tables.values()]
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8")
    library = _plotly() if any(headline.figure for section in sections for headline in section.headlines) else None
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        result=result,
        version=__version__,
        facts=list(_facts(result)),
        notes=[_clipped(note) for note in result.notes],
        options={name: value for name, value in result.options.items() if value},
        sections=sections,
        style=(_TEMPLATES / "page.css").read_text(encoding="utf-8"),
        script=script,
        library=library,
        script_hashes=[_csp_hash(script), *([library.csp_hash] if library else [])],
    )


@dataclass(frozen=True)
class _Library:
    """plotly.js, packed: as text it alone would take most of a page."""

    packed: str
    csp_hash: str


@cache
def _plotly() -> _Library:
    # Read as a file, since importing plotly's own accessor takes longer than a comparison.
    code = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    packed = base64.b64encode(gzip.compress(code.encode(), mtime=0)).decode()
    return _Library(packed, _csp_hash(code))


def _csp_hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _facts(result: Comparison) -> Iterator[tuple[str, str, str]]:
    """What was compared: (what, base, comparison)."""
    sides = (result.base, result.comparison)

    def both(name: str, values: Iterator[str]) -> tuple[str, str, str]:
        base, comparison = values
        return name, base, comparison

    yield both("Device", (side.run["device_name"] or "unknown" for side in sides))
    yield both("Trace", (side.run["source_path"] for side in sides))
    yield both("Scope", (_scope(side) for side in sides))
    yield both("Recorded", (_recorded(side) for side in sides))


def _scope(side: Side) -> str:
    steps = f"{side.run['step_count']:,} step{'' if side.run['step_count'] == 1 else 's'} recorded"
    return f"whole run, {steps}" if side.step is None else f"step {side.step}, {steps}"


def _recorded(side: Side) -> str:
    return f"{side.run['event_count']:,} events, {side.run['device_activity_count']:,} device activities"


@dataclass(frozen=True)
class _Heading:
    """One column of a table as shown."""

    label: str
    meaning: str
    band: str
    is_text: bool
    order: str


@dataclass(frozen=True)
class _Cell:
    """One cell: `exact` is the value as SQL has it, None for text and where there is none."""

    text: str
    exact: str | None
    style: str


@dataclass(frozen=True)
class _Headline:
    """What a root row says: its sentence, which part did it, and the chart of its parts."""

    subject: str
    sentence: str
    because: str
    tone: str
    figure: dict[str, Any] | None


@dataclass(frozen=True)
class _Section:
    """One table as shown. `rows` are (depth in the tree or None, cells)."""

    view: View
    row_count: int
    headings: list[_Heading]
    bands: list[tuple[str, int]]
    rows: list[tuple[int | None, list[_Cell]]]
    headlines: list[_Headline]
    remarks: list[str]


def _section(table: ResultTable, path: Path, limit: int) -> _Section:
    columns = _columns(table)
    headings = [_heading(table.view, column) for column in columns]
    if table.view.headline and limit:
        limit = max(limit, _HEADLINE_ROWS)
    rows = table.rows.slice(0, limit).to_pylist()
    return _Section(
        view=table.view,
        row_count=table.rows.num_rows,
        headings=headings,
        bands=[(band, len(list(group))) for band, group in groupby(heading.band for heading in headings)],
        rows=list(_rows(table, columns, rows)),
        headlines=list(_headlines(table, rows)) if table.view.headline else [],
        remarks=list(_remarks(table, path, len(rows))),
    )


def _columns(table: ResultTable) -> list[Column]:
    """Columns that tell something: not those that only place a row, which the order and the indentation do."""
    is_tree = _depth(table.view) is not None

    def tells(column: Column) -> bool:
        if column.type == "depth" or (is_tree and column.name.startswith("parent_")):
            return False
        if column.type == "category" and table.view.headline:
            return False  # said in the headline's sentence
        if column.type != "id" or units.prefix(column):
            return True
        is_same = table.rows.num_rows > 0 and len(table.rows[column.name].unique()) == 1
        return column.name in table.view.grain and not is_same

    return _in_bands([column for column in table.columns if tells(column)])


def _in_bands(columns: list[Column]) -> list[Column]:
    """Keys, then band by band, each ratio behind its difference, then what stands behind the bands in the view."""
    stems = [column.name.split("_", 1)[1] if units.prefix(column) else column.name for column in columns]
    first = next((place for place, column in enumerate(columns) if units.prefix(column)), len(columns))

    def key(place: int) -> tuple[int, int]:
        band = _BANDS[units.prefix(columns[place])]
        if not band:
            return (0 if place < first else 4), place
        return _PLACES[band], stems.index(stems[place]) if band == "diff" else place

    return [columns[place] for place in sorted(range(len(columns)), key=key)]


def _depth(view: View) -> Column | None:
    return next((column for column in view.columns if column.type == "depth"), None)


def _heading(view: View, column: Column) -> _Heading:
    name, _, direction = view.order.split(",")[0].partition(" ")
    order = ("descending" if direction.startswith("desc") else "ascending") if name == column.name else "none"
    return _Heading(
        units.label(column), column.meaning, _BANDS[units.prefix(column)], column.type in _TEXT_TYPES, order
    )


def _rows(
    table: ResultTable, columns: list[Column], rows: list[dict[str, Any]]
) -> Iterator[tuple[int | None, list[_Cell]]]:
    depth = _depth(table.view)
    tree = next((column for column in columns if column.type == "name"), None) if depth else None
    largest = {column.name: _largest(table, column) for column in columns}
    for row in rows:
        cells = [_cell(row, column, largest[column.name], is_tree=column is tree) for column in columns]
        yield row[depth.name] if depth else None, cells


def _largest(table: ResultTable, column: Column) -> int:
    """The largest difference of a column, which the shading of its cells is measured by."""
    if units.prefix(column) != "diff" or column.type not in _CHART_UNITS:
        return 0
    return pc.max(pc.abs(table.rows[column.name])).as_py() or 0


def _cell(row: dict[str, Any], column: Column, largest: int, *, is_tree: bool) -> _Cell:
    value, text = row[column.name], units.row_text(row, column)
    if column.type in _TEXT_TYPES:
        style = "tree" if is_tree else "name" if column.type == "name" else "text"
        return _Cell(_clipped(text), None, style)
    if isinstance(value, str) or value is None:
        return _Cell(_clipped(text), None, "mark" if text and value is None else "")
    unit = {"duration_ns": " ns", "timestamp_ns": " ns", "bytes": " B", "bandwidth": " B/s"}.get(column.type, "")
    return _Cell(text, f"{value}{unit}", _shade(column, value, largest))


def _shade(column: Column, value: Any, largest: int) -> str:
    worse = units.is_worse(column, value)
    if worse is None:
        return ""
    strength = 3 if 2 * abs(value) >= largest else 2 if 10 * abs(value) >= largest else 1
    return f"{'worse' if worse else 'better'}{strength}"


def _clipped(text: str) -> str:
    text = text.translate(_UNSEEN)
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text):,} characters)"


def _remarks(table: ResultTable, path: Path, shown: int) -> Iterator[str]:
    """What a reader of a table must know: rows left out, a side that has nothing."""
    count = table.rows.num_rows
    if not count:
        yield "No rows for these two runs."
        return
    for side in ("base", "comparison"):
        own = [column.name for column in table.columns if units.prefix(column) == side]
        if own and all(table.rows[name].null_count == count for name in own):
            yield f"Nothing was measured in the {side}: all figures are the other run's."
    if shown < count:
        workbook = path.with_suffix(".xlsx")
        place = f"the workbook {workbook.name}" if table.view.sheet and workbook.exists() else table.view.qualified
        yield f"{shown:,} of {count:,} rows, all rows in {place}. Sorting and filtering see the shown rows only."


def _headlines(table: ResultTable, rows: list[dict[str, Any]]) -> Iterator[_Headline]:
    """A headline per root row; the rows below it, one level deeper, are its parts."""
    depth, measured = _depth(table.view), units.measures(table.view)
    if depth is None or not measured or measured[0].diff is None:
        return
    roots = [place for place, row in enumerate(rows) if row[depth.name] == 0]
    for start, end in zip(roots, [*roots[1:], len(rows)], strict=True):
        root = rows[start]
        parts = [row for row in rows[start + 1 : end] if row[depth.name] == 1]
        yield _headline(table.view, measured[0], root, parts, is_alone=len(roots) == 1)


def _headline(
    view: View, measure: units.Measure, root: dict[str, Any], parts: list[dict[str, Any]], *, is_alone: bool
) -> _Headline:
    base, comparison = root[measure.base.name], root[measure.comparison.name]
    ends = [units.text(value, measure.base) or "not measured" for value in (base, comparison)]
    subject = _clipped(_subject(view, root, is_alone))
    sentence = f"{subject}: {' → '.join(ends)}"
    if base is None or comparison is None or measure.diff is None:
        return _Headline(subject, sentence, "", "same", None)
    diff = comparison - base
    tone = {True: "worse", False: "better", None: "same"}[units.is_worse(measure.diff, diff)]
    named = [(_name(view, part), part[measure.diff.name] or 0) for part in parts]
    figure = _waterfall(measure, (base, comparison), named) if named else None
    sentence += _verdict(measure, root, diff)
    return _Headline(subject, sentence, _because(measure, named, diff), tone, figure)


def _verdict(measure: units.Measure, root: dict[str, Any], diff: int) -> str:
    if not diff:
        return ", the same"
    more, less = _VERDICTS.get(measure.base.type, ("more", "less"))
    ratio = f", {units.row_text(root, measure.ratio)}" if measure.ratio else ""
    return f"{ratio}, {units.text(abs(diff), measure.base)} {more if diff > 0 else less}"


def _subject(view: View, root: dict[str, Any], is_alone: bool) -> str:
    """What a root row is about: `Device 0: E2E Time (whole run)`."""
    keys = [column for column in view.columns if column.name in view.grain and not units.prefix(column)]
    ids = [column for column in keys if column.type == "id"] if not is_alone else []
    owner = "".join(f"{units.label(column).removesuffix(' Ordinal')} {root[column.name]}: " for column in ids)
    categories = [str(root[column.name]) for column in view.columns if column.type == "category" and root[column.name]]
    return owner + _name(view, root) + (f" ({', '.join(categories)})" if categories else "")


def _name(view: View, row: dict[str, Any]) -> str:
    return next((str(row[column.name]) for column in view.columns if column.type == "name"), view.title)


def _because(measure: units.Measure, parts: list[tuple[str, int]], diff: int) -> str:
    """Which part moved the whole most, in the whole's direction."""
    moved = [(name, part) for name, part in parts if part * diff > 0]
    if not moved or measure.diff is None:
        return ""
    name, part = max(moved, key=lambda item: abs(item[1]))
    return _clipped(
        f"Largest part: {name}, {units.text(part, measure.diff, signed=True)} ({part / diff:.0%} of the difference)"
    )


def _waterfall(measure: units.Measure, ends: tuple[int, int], parts: list[tuple[str, int]]) -> dict[str, Any] | None:
    """Plotly's figure from the base over the parts' differences to the comparison; what no part holds is a bar too."""
    if measure.diff is None or measure.diff.type not in _CHART_UNITS:
        return None
    unit, divisor = _CHART_UNITS[measure.diff.type]
    rest = ends[1] - ends[0] - sum(part for _, part in parts)
    steps = [*parts, *([("in no part", rest)] if rest else [])]
    names = [_chart_text(name) for name in ("Base", *(name for name, _ in steps), "Comparison")]
    changes = [units.text(part, measure.diff, signed=True) for _, part in steps]
    texts = [units.text(ends[0], measure.base), *changes, units.text(ends[1], measure.comparison)]
    trace = {
        "type": "waterfall",
        "x": list(range(len(names))),
        "y": [value / divisor for value in (ends[0], *(part for _, part in steps), ends[1])],
        "measure": ["absolute", *("relative" for _ in steps), "total"],
        "text": texts,
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "text",
        "hovertext": [f"{name}<br>{text}" for name, text in zip(names, texts, strict=True)],
        "increasing": {"marker": {"color": _COLOURS["worse"]}},
        "decreasing": {"marker": {"color": _COLOURS["better"]}},
        "totals": {"marker": {"color": _COLOURS["total"]}},
        "connector": {"line": {"color": _COLOURS["line"], "width": 1, "dash": "dot"}},
    }
    levels = [level / divisor for level in accumulate((part for _, part in steps), initial=ends[0])]
    ticks = {"tickvals": trace["x"], "ticktext": names, "fixedrange": True}
    return {"data": [trace], "layout": {"xaxis": ticks, "yaxis": _axis(unit, min(levels), max(levels))}}


def _axis(unit: str, lowest: float, highest: float) -> dict[str, Any]:
    """The axis of values: cut where small differences between large totals would be invisible on one from zero."""
    axis: dict[str, Any] = {"title": {"text": unit}, "zeroline": False, "fixedrange": True}
    if 0 < highest - lowest < highest / 4:
        margin = (highest - lowest) / 4
        axis["range"] = [lowest - margin, highest + margin]
        axis["title"] = {"text": f"{unit} (axis does not start at 0)"}
    return axis


def _chart_text(name: str) -> str:
    """A name for a chart, in short lines; plotly takes its own small set of tags, links among them, from text."""
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(_clipped(name)[:120], 13)) or " "
