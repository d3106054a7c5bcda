"""Results of a comparison: Arrow rows, each table with the view that describes it, which is all that renderers need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.catalog.header import Column, View

# Types of columns that describe a row; columns of other types hold figures.
DESCRIPTIONS = frozenset({"id", "name", "text", "category", "flag", "depth"})


@dataclass(frozen=True)
class ResultTable:
    """Rows of one view. `rows` has the view's columns, in order, with exact values (ns, bytes)."""

    view: View
    rows: pa.Table

    @property
    def columns(self) -> list[Column]:
        """The columns to show: all but the keys that every row of a comparison shares, and the names of a tree."""
        return [column for column in self.view.columns if column.name not in (*SCOPE_KEYS, self.view.tree)]

    @property
    def silence(self) -> str | None:
        """What to say if a comparison has no rows, or no figures on a side; None if both sides have figures."""
        if not self.rows.num_rows:
            return "No rows for these two runs."
        silent = [side for side in ("base", "comparison") if not any(self._figures(side))]
        if len(silent) == 2:
            return "Nothing was measured in either run."
        if silent:
            return f"Nothing was measured in the {silent[0]}: all figures are the other run's."
        return None

    def _figures(self, side: str) -> Iterator[bool]:
        """For each figure of a side, whether any row has it."""
        own = [column for column in self.columns if column.name.startswith(f"{side}_")]
        for column in [column for column in own if column.type not in DESCRIPTIONS] or own:
            yield self.rows[column.name].null_count < self.rows.num_rows
        if not own:
            yield True

    @property
    def rank(self) -> Column | None:
        """The difference by which rows rank: the first that both sides have figures for, else the first."""
        ranks = [column for name in self.view.rank for column in self.columns if column.name == name]
        return next((column for column in ranks if self.compares(column)), ranks[0] if ranks else None)

    def varies(self, column: Column) -> bool:
        """Does a column have more than one value?"""
        return len(self.rows[column.name].drop_null().unique()) > 1

    def compares(self, diff: Column) -> bool:
        """Do both sides have figures for a difference?"""
        stem = diff.name.removeprefix("diff_")
        sides = [f"{side}_{stem}" for side in ("base", "comparison")]
        return all(self.rows[name].null_count < self.rows.num_rows for name in sides)


# Keys that name the compared scopes: titles show them once, rows never.
SCOPE_KEYS = frozenset({"base_run_id", "base_step", "comparison_run_id", "comparison_step"})

# The step number that stands for the average complete step (macros.average_step).
AVERAGE_STEP = -1


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the run's row of `marts.run`, the step, and the run's problems as text.

    The step is a number, AVERAGE_STEP, or None for the whole run.
    """

    run: dict[str, Any]
    step: int | None
    problems: tuple[str, ...] = ()

    @property
    def device(self) -> str | None:
        """Name of its device, if known."""
        name: str | None = self.run["device_name"]
        return name

    @property
    def source(self) -> str:
        """Path that it was read from."""
        return str(self.run["source_path"])

    @property
    def event_count(self) -> int:
        """How many events were read."""
        return int(self.run["event_count"])

    @property
    def activity_count(self) -> int:
        """How many device activities the run has."""
        return int(self.run["device_activity_count"])

    @property
    def step_count(self) -> int:
        """How many steps were recorded."""
        return int(self.run["step_count"])

    @property
    def complete_step_count(self) -> int | None:
        """How many of these steps are complete; None if that is not known."""
        count: int | None = self.run["complete_step_count"]
        return count

    @property
    def scope(self) -> str:
        """The compared scope: `whole run`, `average step` or `step 12`."""
        named = {None: "whole run", AVERAGE_STEP: "average step"}
        return named.get(self.step, f"step {self.step}")

    @property
    def title(self) -> str:
        """Name for titles: the run id, the scope unless it is the whole run, and the status unless it is complete."""
        step = f", {self.scope}" if self.step is not None else ""
        mark = f" [{self.run['status']}]" if self.run["status"] != "complete" else ""
        return f"{self.run['run_id']}{step}{mark}"


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side: result tables by view name, in the order to show them."""

    base: Side
    comparison: Side
    tables: dict[str, ResultTable]
    catalog_version: str
    fingerprint: str
    options: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
