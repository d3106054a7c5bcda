"""What a query gives: rows in Arrow with the view that describes them, so that a renderer needs no other knowledge."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.catalog.header import Column, View


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
        """What to say where a comparison has no rows, or no figure on one side; None where both have some."""
        count = self.rows.num_rows
        if not count:
            return "No rows for these two runs."
        for side in ("base", "comparison"):
            own = [column.name for column in self.columns if column.name.startswith(f"{side}_")]
            if own and all(self.rows[name].null_count == count for name in own):
                return f"Nothing was measured in the {side}: all figures are the other run's."
        return None


# Keys that name the compared scopes: said once, in a title, never in a row.
SCOPE_KEYS = frozenset({"base_run_id", "base_step", "comparison_run_id", "comparison_step"})


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the row of `marts.run`, the step (None for the whole run), what is wrong with it."""

    run: dict[str, Any]
    step: int | None
    problems: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name for titles: run id, step, and the mark of a salvaged run."""
        step = f", step {self.step}" if self.step is not None else ""
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
