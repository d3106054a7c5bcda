"""What a query gives: rows in Arrow with the view that describes them, so that a renderer needs no other knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.catalog.header import Column, View

# Types of columns that say what a row is of; the others hold figures.
DESCRIPTIONS = frozenset({"id", "name", "text", "category", "flag", "depth"})


@dataclass(frozen=True)
class ResultTable:
    """Rows of one view. `rows` has the view's columns, in order, with their exact values (ns, bytes)."""

    view: View
    rows: pa.Table

    @property
    def columns(self) -> list[Column]:
        """Columns to show: not the keys that are the same in every row of a comparison, nor a tree's names."""
        return [column for column in self.view.columns if column.name not in (*SCOPE_KEYS, self.view.tree)]

    @property
    def silence(self) -> str | None:
        """What to say where a comparison has no rows, or no figure on a side; None where both have some."""
        if not self.rows.num_rows:
            return "No rows for these two runs."
        silent = [side for side in ("base", "comparison") if not any(self._figures(side))]
        if len(silent) == 2:
            return "Nothing was measured in either run."
        if silent:
            return f"Nothing was measured in the {silent[0]}: all figures are the other run's."
        return None

    def _figures(self, side: str) -> Iterator[bool]:
        """For each quantity of a side: is there any?"""
        own = [column for column in self.columns if column.name.startswith(f"{side}_")]
        for column in [column for column in own if column.type not in DESCRIPTIONS] or own:
            yield self.rows[column.name].null_count < self.rows.num_rows
        if not own:
            yield True

    @property
    def rank(self) -> Column | None:
        """The difference that rows rank by: the first of the view's that both sides have figures for."""
        ranks = [column for name in self.view.rank for column in self.columns if column.name == name]
        return next((column for column in ranks if self.compares(column)), ranks[0] if ranks else None)

    def varies(self, column: Column) -> bool:
        """Has a column more than one value?"""
        return len(self.rows[column.name].drop_null().unique()) > 1

    def compares(self, diff: Column) -> bool:
        """Do both sides have figures for a difference?"""
        stem = diff.name.removeprefix("diff_")
        sides = [f"{side}_{stem}" for side in ("base", "comparison")]
        return all(self.rows[name].null_count < self.rows.num_rows for name in sides)


# Keys that name the compared scopes: said once, in a title, never in a row.
SCOPE_KEYS = frozenset({"base_run_id", "base_step", "comparison_run_id", "comparison_step"})

# What stands for the average complete step where a step is asked for (macros.average_step).
AVERAGE_STEP = -1


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the row of `marts.run`, the step, and what is wrong with the run.

    The step is a number, AVERAGE_STEP, or None for the whole run.
    """

    run: dict[str, Any]
    step: int | None
    problems: tuple[str, ...] = ()

    @property
    def device(self) -> str | None:
        """Name of its device, where it is known."""
        name: str | None = self.run["device_name"]
        return name

    @property
    def source(self) -> str:
        """Path that it was read from."""
        return str(self.run["source_path"])

    @property
    def event_count(self) -> int:
        """Events that were read."""
        return int(self.run["event_count"])

    @property
    def activity_count(self) -> int:
        """Activities of devices among them."""
        return int(self.run["device_activity_count"])

    @property
    def step_count(self) -> int:
        """Steps that were recorded."""
        return int(self.run["step_count"])

    @property
    def complete_step_count(self) -> int | None:
        """Complete steps among them; None where nothing tells."""
        count: int | None = self.run["complete_step_count"]
        return count

    @property
    def scope(self) -> str:
        """What of the run is compared."""
        named = {None: "whole run", AVERAGE_STEP: "average step"}
        return named.get(self.step, f"step {self.step}")

    @property
    def title(self) -> str:
        """Name for titles: run id, step, and the mark of a salvaged run."""
        step = f", {self.scope}" if self.step is not None else ""
        mark = f" [{self.run['status']}]" if self.run["status"] != "complete" else ""
        return f"{self.run['run_id']}{step}{mark}"


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side: result tables by view name, in the order in which they are shown."""

    base: Side
    comparison: Side
    tables: dict[str, ResultTable]
    catalog_version: str
    fingerprint: str
    options: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
