"""The tables of a comparison: which rows of each view to query, all views concurrently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.catalog.header import View
from pipeline.comparison.matching import Matching
from pipeline.comparison.result import SCOPE_KEYS, ResultTable, Side
from pipeline.warehouse.querypool import Job


def begin_tables(
    submit: Callable[[Job], Future[pa.Table]], views: Sequence[View], sides: Sequence[Side], matching: Matching
) -> dict[Future[pa.Table], View]:
    """Begin the views' queries; those with one row per call come first, since they take the longest."""
    ordered = sorted(views, key=lambda view: not view.detail)
    return {submit(partial(_answer, view, sides, matching)): view for view in ordered}


def _answer(view: View, sides: Sequence[Side], matching: Matching, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    matching.apply(connection)
    return _rows(connection, view, sides)


def finish_tables(views: Sequence[View], begun: Mapping[Future[pa.Table], View]) -> dict[str, ResultTable]:
    """The tables in the order of the views; the first error of a query is raised at once."""
    found = {begun[job].name: job.result() for job in as_completed(begun)}
    return {view.name: ResultTable(view, found[view.name]) for view in views}


def _rows(connection: duckdb.DuckDBPyConnection, view: View, sides: Sequence[Side]) -> pa.Table:
    base, comparison = sides
    values: dict[str, Any] = {
        "base_run_id": base.run["run_id"],
        "base_step": base.step,
        "comparison_run_id": comparison.run["run_id"],
        "comparison_step": comparison.step,
    }
    # If neither run can have rows, the query is `where false`: pairing all calls would take as long as for many rows.
    is_empty = view.requires is not None and not any(side.run[view.requires] for side in sides)
    keys = [] if is_empty else [column.name for column in view.columns if column.name in SCOPE_KEYS]
    # Equalities, since DuckDB prunes partitions by them and passes them through joins; `macros.scope` is never NULL.
    conditions = [
        f"{key} = ${key}" if key.endswith("run_id") else f"macros.scope({key}) = macros.scope(${key}::bigint)"
        for key in keys
    ]
    where = " and ".join(conditions or ["false"])
    source = view.qualified
    # The view has only pairs of equal steps; its table macro computes any other pair.
    if keys and base.step != comparison.step and "base_step" in keys:
        source, where = f"{source}_of_steps({', '.join(f'${key}' for key in values)})", "true"
    query = f"select * from {source} where {where} order by {view.order}"
    return fetch(connection, query, {key: values[key] for key in keys})


def fetch(connection: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, Any]) -> pa.Table:
    """Run a query and return its rows."""
    return connection.sql(query, params=parameters).to_arrow_table()
