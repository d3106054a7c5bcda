"""Rows in, rows out: the catalog's views over a few events written in the test, in memory.

    house = views(v1=[op("aten::mm", 1000, 30), launch("cudaLaunchKernel", 1010, 4, correlation=9)], v2=[...])
    assert house.rows("select operator_name, call_count from marts.operator where step is null") == [...]

Each keyword is a run, each list its events in file order (`event_index` counts from 0; lists in the list are opened).
A view is computed when a query names it, as a table, after all that it reads: the nested views are never bound as a
whole, which would cost seconds a test.
"""

from __future__ import annotations

import functools
import itertools
import re
import weakref
from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.comparison import macro_of_steps
from pipeline.catalog.header import View
from pipeline.catalog.install import _seed_values
from pipeline.schema import RAW_TABLES
from pipeline.walk.walks import WALKS
from tests.support.events import about, opened

_VIEW = re.compile(r"\b(?:staging|intermediate|marts)\.[a-z_]+")
_OF_STEPS = "_of_steps"
_NUMBERS = itertools.count()


class Views:
    """The catalog over some runs: ask by SQL."""

    def __init__(self, runs: dict[str, Iterable[Any]]) -> None:
        self.tables = raw_tables(runs)
        # A database of its own, attached to the one process-wide instance: starting another takes longer than a test.
        self.connection = _instance().cursor()
        name = f"house_{next(_NUMBERS)}"
        self.connection.execute(f"attach ':memory:' as {name}; use {name}")
        for statement in _foundation():
            self.connection.execute(statement)
        for raw, table in self.tables.items():
            self.connection.register("batch", table)
            self.connection.execute(f"create table raw.{raw} as select * from batch")
            self.connection.unregister("batch")
        self._there: set[str] = set()
        weakref.finalize(self, _leave, self.connection, name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query as tuples."""
        wanted = _VIEW.findall(sql)
        of_steps = {name for name in wanted if name.endswith(_OF_STEPS)} - self._there
        for name in _read_by(frozenset(name.removesuffix(_OF_STEPS) for name in wanted)):
            if name not in self._there:
                self._compute(catalog().views[name])
                self._there.add(name)
        for name in sorted(of_steps):
            macro = macro_of_steps(catalog().views, catalog().views[name.removesuffix(_OF_STEPS)])
            self.connection.execute(f"create macro {macro}")
            self._there.add(name)
        return self.connection.execute(sql).fetchall()

    def _compute(self, view: View) -> None:
        if view.walk is None:
            self.connection.execute(f"create table {view.qualified} as {view.body}")
            return
        walk = WALKS[view.walk]
        rows = self.connection.sql(view.body).to_arrow_table()
        parts = []
        for run_id in pc.unique(rows.column("run_id")).to_pylist():
            own = pa.Table.from_batches(walk.run(rows.filter(pc.field("run_id") == run_id).to_batches()), walk.schema)
            parts.append(own.add_column(0, "run_id", pa.repeat(pa.scalar(run_id), own.num_rows)))
        empty = pa.schema([("run_id", pa.string()), *walk.schema]).empty_table()
        self.connection.register("batch", pa.concat_tables([empty, *parts]))
        self.connection.execute(f"create table {view.qualified} as select * from batch")
        self.connection.unregister("batch")

    def pairs(self, sql: str) -> dict[Any, Any]:
        """A query of a key and one value (or more, as a tuple) as a dict."""
        found = self.rows(sql)
        assert len({row[0] for row in found}) == len(found), "keys repeat"
        return {key: values[0] if len(values) == 1 else tuple(values) for key, *values in found}

    def one(self, sql: str) -> tuple[Any, ...]:
        """The only row of a query."""
        (row,) = self.rows(sql)
        return row


def views(*events: Any, **runs: Iterable[Any]) -> Views:
    """The catalog over runs given by name, or over the events of one run called `run`."""
    return Views({"run": events} | runs if events else runs)


def raw_tables(runs: dict[str, Iterable[Any]]) -> dict[str, pa.Table]:
    """The raw tables of some runs, with run_id as a column."""
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in RAW_TABLES}
    for run_id, rows in runs.items():
        written = list(opened(rows))
        if not any(table == "run" for table, _ in written):
            written.append(about(label=run_id))
        events = [values for table, values in written if table == "event"]
        others = 0
        for table, values in written:
            if table != "event":
                numbered = {"event_index": len(events) + others} if "event_index" in RAW_TABLES[table].names else {}
                found[table].append({"run_id": run_id} | (numbered if table != "problem" else {}) | values)
                others += 1
        found["event"] += [{"run_id": run_id, "event_index": i} | values for i, values in enumerate(events)]
    for table, rows in found.items():
        unknown = {column for row in rows for column in row} - {"run_id", *RAW_TABLES[table].names}
        assert not unknown, f"no such columns of raw.{table}: {unknown}"
    return {
        table: pa.Table.from_pylist(rows, pa.schema([("run_id", pa.string()), *RAW_TABLES[table]]))
        for table, rows in found.items()
    }


@functools.cache
def catalog() -> Catalog:
    """The catalog of this checkout, parsed once."""
    return Catalog()


@functools.cache
def _instance() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process, with the seeds."""
    connection = duckdb.connect(config={"threads": 1, "python_enable_replacements": "false"})
    install_alignment(connection)
    for seed in catalog().seeds.values():
        connection.execute(f"create table {seed.name} as {_seed_values(seed)}")
    return connection


def _leave(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.close()
    _instance().execute(f"detach {name}")


@functools.cache
def _foundation() -> tuple[str, ...]:
    """Statements for all below the views: schemas, seeds and macros."""
    schemas = [f"create schema {schema}" for schema in ("raw", "seeds", "macros", "staging", "intermediate", "marts")]
    seeds = [f"create table seeds.{name} as from memory.main.{name}" for name in catalog().seeds]
    macros = [f"create macro macros.{macro.signature} as ({macro.body})" for macro in catalog().macros_in_order()]
    return (*schemas, *seeds, *macros)


@functools.cache
def _read_by(wanted: frozenset[str]) -> tuple[str, ...]:
    """The views that these read, themselves last, in the order in which they can be computed."""
    needed = set(wanted)
    for name, view in reversed(catalog().views.items()):
        if name in needed:
            needed |= {reference for reference in view.references if reference in catalog().views}
    return tuple(name for name in catalog().views if name in needed)
