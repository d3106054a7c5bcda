"""Rows that form a tree, as a page shows them: nodes that open and close, and an icicle chart of each side.

The view defines the tree: `@tree` names its nodes, the depth column and the order of rows place them. The chart is
plotly's figure as plain data, so nothing here needs plotly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import copysign, sqrt
from typing import Any

import pyarrow.compute as pc

from pipeline.catalog.header import Column
from pipeline.comparison.result import ResultTable
from pipeline.render import units
from pipeline.render.headline import CHART_UNITS, COLOURS, depth_column
from pipeline.render.names import chart_text, clipped

# Levels are open at first as long as no more nodes than this are visible.
_OPEN_NODES = 50
_LEVEL_HEIGHT = 26
_CHART_HEIGHTS = (300, 1_000)
_LINE_WIDTH = 60
# Translucent, so that areas thinner than their borders keep their colour.
_BORDER = "rgba(90, 98, 112, 0.35)"
_TITLES = {"base": "Base", "comparison": "Comparison", "diff": "Difference", "ratio": "Ratio", None: ""}


@dataclass
class Node:
    """A row that is a node. `level` counts the nodes around it, `left_out` the nodes inside it that are not shown."""

    row: dict[str, Any]
    name: str
    level: int
    parent: Node | None
    is_outside: bool  # a row of depth 0: what is in no node; the outermost nodes have depth 1
    left_out: int = 0
    has_children: bool = False
    closes: int = 0  # how many nodes end after it


@dataclass(frozen=True)
class Tree:
    """The shown nodes, from the top down, the `count` of all nodes, and the measure that is shown."""

    measure: units.Measure
    nodes: list[Node]
    count: int

    @cached_property
    def columns(self) -> list[Column]:
        """The columns to the right of a node's name."""
        chosen = (self.measure.diff, self.measure.ratio, self.measure.base, self.measure.comparison)
        return [column for column in chosen if column]

    @property
    def label(self) -> str:
        """Title of the measure that the tree shows."""
        return units.label(self.measure.base)

    @property
    def titles(self) -> list[tuple[str, str]]:
        """Titles of the columns, each with its band (base, comparison or diff)."""
        sides = [units.prefix(column) for column in self.columns]
        return [(_TITLES[side], "diff" if side == "ratio" else side or "") for side in sides]

    @property
    def not_drawn(self) -> list[str]:
        """The rows that the chart leaves out, with their figures, as text."""
        outside = [node for node in self.nodes if node.is_outside]
        return [f"{node.name}: {', '.join(_figures(self, node))}" for node in outside]

    @cached_property
    def open_levels(self) -> int:
        """How many levels are open at first."""
        sizes = Counter(node.level for node in self.nodes)
        return sum(seen <= _OPEN_NODES for seen in accumulate(sizes[level] for level in sorted(sizes))) - 1

    @cached_property
    def largest(self) -> int:
        """The largest difference, relative to which cells are shaded."""
        return max(abs(self.diff(node)) for node in self.nodes)

    @cached_property
    def drawn(self) -> list[Node]:
        """The nodes of the chart. What is in no node is often most of a run and would leave the others no width."""
        return [node for node in self.nodes if not node.is_outside]

    def diff(self, node: Node) -> int:
        """A node's difference, for its colour; 0 if it was not measured."""
        return (node.row[self.measure.diff.name] if self.measure.diff else None) or 0

    @cached_property
    def figure(self) -> dict[str, Any] | None:
        """The chart; None if there is nothing to draw."""
        return _figure(self)


def tree(table: ResultTable, limit: int) -> Tree | None:
    """The tree of a table's rows, or None if they form none; at most `limit` nodes, those largest on either side.

    A node's figures include those of the nodes inside it, so all nodes around a shown one are shown too.
    """
    view, depth = table.view, depth_column(table.view)
    measure = next((m for m in units.measures(view) if m.diff and m.ratio and m.diff.type in CHART_UNITS), None)
    if view.tree is None or depth is None or measure is None or not limit:
        return None
    used = {view.tree, depth.name, *(column.name for column in vars(measure).values() if isinstance(column, Column))}
    rows = table.rows.select(sorted(used)).filter(pc.is_valid(table.rows[view.tree])).to_pylist()
    nodes = list(_nodes(rows, view.tree, depth.name))
    if not nodes:
        return None
    by_size = sorted(nodes, key=lambda node: max(_sizes(node, measure)), reverse=True)
    shown = {id(node) for node in by_size[:limit]}
    for node in by_size[limit:]:
        around = _nearest(node, shown)
        if around:
            around.left_out += 1
    return Tree(measure, _closed([node for node in nodes if id(node) in shown]), len(nodes))


def _nodes(rows: list[dict[str, Any]], name: str, depth: str) -> Iterator[Node]:
    """The nodes, each with its parent: the nearest row above with a lower depth."""
    around: list[Node] = []
    for row in rows:
        while around and around[-1].row[depth] >= row[depth]:
            around.pop()
        node = Node(row, clipped(row[name]), len(around), around[-1] if around else None, not row[depth])
        around.append(node)
        yield node


def _nearest(node: Node, among: Container[int]) -> Node | None:
    """The innermost node around a node among those whose `id` is given."""
    around = node.parent
    while around and id(around) not in among:
        around = around.parent
    return around


def _sizes(node: Node, measure: units.Measure) -> tuple[int, int]:
    return node.row[measure.base.name] or 0, node.row[measure.comparison.name] or 0


def _closed(nodes: list[Node]) -> list[Node]:
    """The nodes, each with the counts by which a page nests them without recursion: a trace may nest to any depth."""
    for node, following in zip(nodes, [*nodes[1:], None], strict=True):
        level = following.level if following else 0
        node.has_children = level > node.level
        node.closes = max(0, node.level - level)
    return nodes


def _figure(tree: Tree) -> dict[str, Any] | None:
    """Plotly's figure: base above comparison at the same scale, nodes in order from left to right."""
    sides = (tree.measure.base, tree.measure.comparison)
    roots = [node for node in tree.drawn if node.parent is None]
    totals = [sum(node.row[side.name] or 0 for node in roots) for side in sides]
    if not any(totals):
        return None
    traces = [_icicle(tree, side, total) for side, total in zip(sides, totals, strict=True)]
    for trace, total, ends in zip(traces, totals, ([0.52, 1], [0, 0.48]), strict=True):
        trace["domain"] = {"x": [0, total / max(totals)], "y": ends}
    levels = max(node.level for node in tree.drawn) + 2
    return {
        "data": [trace for trace, total in zip(traces, totals, strict=True) if total],
        "height": min(_CHART_HEIGHTS[1], max(_CHART_HEIGHTS[0], 2 * levels * _LEVEL_HEIGHT)),
        "layout": {
            "coloraxis": _coloraxis(tree),
            "uniformtext": {"minsize": 10, "mode": "hide"},
            "margin": {"l": 4, "r": 4, "t": 8, "b": 8},
        },
    }


def _icicle(tree: Tree, side: Column, total: int) -> dict[str, Any]:
    """Plotly's trace of one side, below a root node with the total. Nodes without a figure here get no area."""
    nodes = [node for node in tree.drawn if node.row[side.name]]
    ids = {id(node): str(place) for place, node in enumerate(nodes, 1)}
    whole = f"{_TITLES[units.prefix(side)]}: {units.text(total, side)}"
    around = [_nearest(node, ids) for node in nodes]
    return {
        "type": "icicle",
        "ids": ["0", *ids.values()],
        "labels": [whole, *(chart_text(node.name, _LINE_WIDTH) for node in nodes)],
        "parents": ["", *(ids[id(node)] if node else "0" for node in around)],
        "values": [total, *(node.row[side.name] for node in nodes)],
        "hovertext": [whole, *(_hover(tree, node) for node in nodes)],
        "hoverinfo": "text",
        "textinfo": "label",
        "branchvalues": "total",
        "sort": False,
        "tiling": {"orientation": "v"},
        "pathbar": {"visible": False},
        "marker": {
            "colors": [0, *(_stretched(tree.diff(node)) for node in nodes)],
            "coloraxis": "coloraxis",
            "line": {"width": 0.5, "color": _BORDER},
        },
    }


def _hover(tree: Tree, node: Node) -> str:
    return "<br>".join([chart_text(node.name, _LINE_WIDTH), *_figures(tree, node)])


def _figures(tree: Tree, node: Node) -> Iterator[str]:
    for column in tree.columns:
        if text := units.row_text(node.row, column):
            yield f"{_TITLES[units.prefix(column)]} {text}"


def _stretched(diff: int) -> float:
    """A difference on the colour scale: its square root, since the model's own would leave none for those of layers."""
    return copysign(sqrt(abs(diff)), diff)


def _coloraxis(tree: Tree) -> dict[str, Any]:
    """The colour scale from better to worse, labelled with differences."""
    largest, column = max(abs(tree.diff(node)) for node in tree.drawn), tree.measure.diff or tree.measure.base
    ticks = sorted({sign * part for sign in (-1, 1) for part in (0, largest // 9, largest // 3, largest)})
    end = _stretched(largest) or 1
    return {
        "cmin": -end,
        "cmax": end,
        "showscale": largest > 0,
        "colorscale": [[0, COLOURS["better"]], [0.5, COLOURS["even"]], [1, COLOURS["worse"]]],
        "colorbar": {
            "title": {"text": "Difference", "side": "right"},
            "tickvals": [_stretched(tick) for tick in ticks],
            "ticktext": [units.text(tick, column, signed=True) for tick in ticks],
            "thickness": 12,
            "outlinewidth": 0,
        },
    }
