"""Headlines of a comparison's root rows, for screen and page: the change, the part that caused most of it, and a chart.

Everything follows from the view's columns. The chart is plotly's figure as plain data, so nothing here needs plotly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from pipeline.catalog.header import Column, View
from pipeline.render import units
from pipeline.render.names import chart_text, clipped

# Unit and divisor of a chart's axis. Other types do not add up to a whole and get no chart.
CHART_UNITS = {"duration_ns": ("ms", 1_000_000), "bytes": ("MiB", 1 << 20)}
_VERDICTS = {"duration_ns": ("slower", "faster"), "bytes": ("more", "less")}
COLOURS = {"worse": "#cf4a3f", "better": "#2c9a6a", "total": "#6c82ab", "line": "#8a93a3", "even": "#dfe3ea"}


@dataclass(frozen=True)
class Headline:
    """A root row with its parts, each a (name, difference). `owner` says whose it is, if the view has several."""

    owner: str
    name: str
    measure: units.Measure
    row: dict[str, Any]
    parts: list[tuple[str, int]]

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The row's figures of base and comparison."""
        return self.row[self.measure.base.name], self.row[self.measure.comparison.name]

    @property
    def diff(self) -> int | None:
        """Comparison − base; None if one of them was not measured."""
        base, comparison = self.ends
        return None if base is None or comparison is None else comparison - base

    @property
    def tone(self) -> str:
        """How to take the difference: worse, better or same."""
        worse = units.is_worse(self.measure.diff, self.diff) if self.measure.diff else None
        return {True: "worse", False: "better", None: "same"}[worse]

    @property
    def subject(self) -> str:
        """What the sentence is about: `Device 0: E2E Time (whole run)`."""
        return clipped(self.owner + self.name)

    @property
    def sentence(self) -> str:
        """`E2E Time (whole run): 23.761 ms → 28.265 ms, ×1.190, 4.504 ms slower`."""
        return self.subject + self._change

    @property
    def _change(self) -> str:
        base, comparison = (units.text(value, self.measure.base) or "not measured" for value in self.ends)
        change = f": {base} → {comparison}"
        if self.diff is None:
            return change
        if not self.diff:
            return f"{change}, the same"
        more, less = _VERDICTS.get(self.measure.base.type, ("more", "less"))
        ratio = f", {units.row_text(self.row, self.measure.ratio)}" if self.measure.ratio else ""
        return f"{change}{ratio}, {units.text(abs(self.diff), self.measure.base)} {more if self.diff > 0 else less}"

    @property
    def because(self) -> str:
        """The part that changed most in the direction of the whole, as a sentence; empty if there is none."""
        diff, column = self.diff, self.measure.diff
        moved = [(name, part) for name, part in self.parts if diff and part * diff > 0]
        if not moved or not diff or column is None:
            return ""
        name, part = max(moved, key=lambda item: abs(item[1]))
        share = f"{part / diff:.0%} of the difference"
        return clipped(f"Largest part: {name}, {units.text(part, column, signed=True)} ({share})")

    @cached_property
    def figure(self) -> dict[str, Any] | None:
        """The chart of the parts; None if there is nothing to draw."""
        base, comparison = self.ends
        if base is None or comparison is None or not self.parts:
            return None
        return _waterfall(self.measure, (base, comparison), self.parts)


def headlines(view: View, rows: list[dict[str, Any]]) -> Iterator[Headline]:
    """One headline per root row; the rows one level below it are its parts."""
    depth, measure = depth_column(view), next(iter(units.measures(view)), None)
    if depth is None or measure is None or measure.diff is None:
        return
    diff = measure.diff.name
    roots = [place for place, row in enumerate(rows) if row[depth.name] == 0]
    for start, end in zip(roots, [*roots, len(rows)][1:], strict=True):
        parts = [row for row in rows[start + 1 : end] if row[depth.name] == 1]
        yield Headline(
            owner=_owner(view, rows[start]) if len(roots) > 1 else "",
            name=_name(view, rows[start]) + _categories(view, rows[start]),
            measure=measure,
            row=rows[start],
            parts=[(_name(view, row), row[diff]) for row in parts if row[diff] is not None],
        )


def depth_column(view: View) -> Column | None:
    """The column that gives the depth of a view's rows in a tree, if they form one."""
    return next((column for column in view.columns if column.type == "depth"), None)


def indented(view: View) -> tuple[Column, Column] | None:
    """The depth column and the names that it indents; None if rows form no tree, or rank by a difference."""
    depth, name = depth_column(view), next((column for column in view.columns if column.type == "name"), None)
    return (depth, name) if depth and name and not view.rank else None


def _owner(view: View, row: dict[str, Any]) -> str:
    """Whose root row it is, from the ids in the view's grain: `Device 0: `."""
    keys = [column for column in view.columns if column.name in view.grain and not units.prefix(column)]
    ids = [column for column in keys if column.type == "id"]
    known = [column for column in ids if row[column.name] is not None]
    return "".join(f"{units.label(column).removesuffix(' Ordinal')} {row[column.name]}: " for column in known)


def _categories(view: View, row: dict[str, Any]) -> str:
    categories = [str(row[column.name]) for column in view.columns if column.type == "category" and row[column.name]]
    return f" ({', '.join(categories)})" if categories else ""


def _name(view: View, row: dict[str, Any]) -> str:
    return next((str(row[column.name]) for column in view.columns if column.type == "name"), view.title)


def _waterfall(measure: units.Measure, ends: tuple[int, int], parts: list[tuple[str, int]]) -> dict[str, Any] | None:
    """Plotly's figure: bars from the base through the parts to the comparison, and one for what is in no part."""
    if measure.diff is None or measure.diff.type not in CHART_UNITS:
        return None
    unit, divisor = CHART_UNITS[measure.diff.type]
    rest = ends[1] - ends[0] - sum(part for _, part in parts)
    # Averages are rounded one by one: each may be off by half a unit of its type, and a difference by one.
    steps = [*parts, *([("in no part", rest)] if abs(rest) > len(parts) + 1 else [])]
    names = [chart_text(name) for name in ("Base", *(name for name, _ in steps), "Comparison")]
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
        "increasing": {"marker": {"color": COLOURS["worse"]}},
        "decreasing": {"marker": {"color": COLOURS["better"]}},
        "totals": {"marker": {"color": COLOURS["total"]}},
        "connector": {"line": {"color": COLOURS["line"], "width": 1, "dash": "dot"}},
    }
    levels = [level / divisor for level in accumulate((part for _, part in steps), initial=ends[0])]
    ticks = {"tickvals": trace["x"], "ticktext": names, "fixedrange": True}
    return {"data": [trace], "layout": {"xaxis": ticks, "yaxis": _axis(unit, min(levels), max(levels))}}


def _axis(unit: str, lowest: float, highest: float) -> dict[str, Any]:
    """The axis of values. It does not start at 0 if differences are small, which would make them invisible."""
    axis: dict[str, Any] = {"title": {"text": unit}, "zeroline": False, "fixedrange": True}
    if 0 < highest - lowest < highest / 4:
        margin = (highest - lowest) / 4
        axis["range"] = [lowest - margin, highest + margin]
        axis["title"] = {"text": f"{unit} (axis does not start at 0)"}
    return axis
