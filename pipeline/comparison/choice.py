"""The choice of scopes and tables for a comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.comparison.result import AVERAGE_STEP
from pipeline.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from pipeline.catalog.catalog import Catalog
    from pipeline.catalog.header import View


@dataclass(frozen=True)
class Choice:
    """Tables and scopes of a comparison.

    `only` and `skip` choose views by name; `details` includes those with one row per call. Without `modules`, operators
    are shown even if both runs have modules. Whole runs are compared unless a step is given, or `average_step`, which
    compares the average complete steps. `own_views` is a folder of views in addition to those of the warehouse.
    """

    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    details: bool = True
    modules: bool = True
    base_step: int | None = None
    comparison_step: int | None = None
    average_step: bool = False
    own_views: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Raise UsageError if steps are given together with `average_step`."""
        if self.average_step and (self.base_step, self.comparison_step) != (None, None):
            raise UsageError(
                "--average-step compares the average steps of both runs; leave out --base-step and --comparison-step"
            )

    @property
    def steps(self) -> tuple[int | None, int | None]:
        """The scope of the base and of the comparison: a step, AVERAGE_STEP, or None for the whole run."""
        return (AVERAGE_STEP, AVERAGE_STEP) if self.average_step else (self.base_step, self.comparison_step)

    def views(self, catalog: Catalog) -> list[View]:
        """The comparisons to show, in the catalog's order. `only` and `skip` may omit the ending `_comparison`.

        Raises UsageError for an unknown name.
        """
        by_name = {view.name: view for view in catalog.comparisons}

        def named(name: str) -> View:
            view = by_name.get(name) or by_name.get(f"{name}_comparison")
            if view is None:
                raise UsageError(f"no comparison {name!r}; there are: {', '.join(sorted(by_name))}")
            return view

        wanted = [named(name) for name in self.only] or list(by_name.values())
        left_out = [named(name) for name in self.skip]
        # An average has no sequence of calls.
        details = self.details and not self.average_step
        return [
            view
            for view in by_name.values()
            if view in wanted and view not in left_out and (details or not view.detail)
        ]

    @staticmethod
    def also_read(catalog: Catalog, views: Sequence[View]) -> list[View]:
        """The marts that a comparison reads besides its views: for what it says of the runs, and to choose views."""
        names = ["run", "step", "problem", *(["module"] if any(view.alternative for view in views) else [])]
        return [catalog.mart(name) for name in names]

    def without_alternative(
        self, connection: duckdb.DuckDBPyConnection, views: Sequence[View], run_ids: Sequence[str]
    ) -> list[View]:
        """The views, with those of modules or those of operators left out.

        Modules are shown, and not operators, if both runs have modules with device time. If no view of the kind to be
        shown was chosen, all views stay.
        """
        if not any(view.alternative for view in views):
            return list(views)
        # Work of the optimizer, or outside any module, does not count; modules without device time have no figures.
        modules_of = "starts_with(forward_name, '/') and device_total_duration_ns is not null"
        query = f"select count(distinct run_id) from marts.module where run_id in ($base, $comparison) and {modules_of}"
        ((found,),) = connection.execute(query, {"base": run_ids[0], "comparison": run_ids[1]}).fetchall()
        use_modules = self.modules and not self.average_step and found == len(set(run_ids))
        shown = "modules" if use_modules else "operators"
        if not any(view.alternative == shown for view in views):
            return list(views)
        return [view for view in views if view.alternative in (None, shown)]

    @property
    def told(self) -> dict[str, str]:
        """The views that were chosen by name, for the workbook's sheet About and for the page."""
        return {"only": ", ".join(self.only), "skip": ", ".join(self.skip)}
