"""Derives the results that are kept per run: in which order, how many at once, and with how much memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.header import View
from pipeline.catalog.install import Partitions, create_raw_tables, create_view, quoted
from pipeline.walk.walks import WALKS, Walk
from pipeline.warehouse.machine import rising_limits
from pipeline.warehouse.querypool import queries_at_once, query_pool
from pipeline.warehouse.settings import CONNECTION_SETTINGS, database_settings

# The file of a result.
PART = "part-0000.parquet"
# DuckDB's memory if no limit is given; what does not fit spills.
DERIVE_MEMORY = 640 << 20
# Freed memory that DuckDB keeps: to return it and allocate it again would take a sixth of the time of deriving.
_KEEPS = "64MiB"
# Parquet version 2 stores numbers as differences, and the small limit stops dictionaries of columns whose values rarely
# repeat: a tenth less time, and half of the bytes.
_FORMAT = "format parquet, parquet_version v2, dictionary_size_limit 4000, compression zstd, compression_level 1"
# The same for the results of walks, and how many rows a walk gets at a time.
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": ["caller_indexes", "module_name"],
}
_WALK_ROWS = 1 << 16


@dataclass(frozen=True)
class Task:
    """A result of a run that others read or that is wanted.

    `reads` are the missing results that it reads, directly or indirectly; they must be computed before. If it is
    missing itself, it is written to `target`. Without a target it becomes a view over `files`.
    """

    view: View
    reads: tuple[str, ...]
    files: tuple[Path, ...] = ()
    target: Path | None = None


def plan(catalog: Catalog, partitions: Partitions, targets: Mapping[str, Path]) -> list[Task]:
    """What to do, in order, so that the results in `targets`, and those that they read, have files."""
    results = catalog.results([catalog.views[name] for name in targets])
    missing = {view.qualified for view in results if not partitions.get(view.qualified)}
    tasks = []
    for view in results:
        reads = tuple(read.qualified for read in catalog.results([view]) if read.qualified in missing and read != view)
        target = targets[view.qualified] if view.qualified in missing else None
        tasks.append(Task(view, reads, tuple(partitions.get(view.qualified, ())), target))
    return tasks


def derive(
    database: Path,
    catalog: Catalog,
    partitions: Partitions,
    targets: Mapping[str, Path],
    memory: str | None,
    threads: int,
) -> None:
    """Compute those of some results that have no files among a run's partitions.

    `targets` names the folder of each result; those that a result reads must be among them. `database` has the
    catalog's views over other files; DuckDB spills next to it. `memory` limits DuckDB (`2GB`). Without it, DuckDB gets
    DERIVE_MEMORY, and statements that do not fit get more, up to half of the machine's memory.
    """
    pa.default_memory_pool().release_unused()  # memory that reading has left in Arrow's pool
    limits = rising_limits(DERIVE_MEMORY, memory)
    settings = {
        **database_settings(limits[0], _KEEPS, database.parent, threads),
        "preserve_insertion_order": "false",  # rows of a partition have no order, and preserving one costs memory
    }
    at_once = queries_at_once(chain.from_iterable(partitions.values()), len(limits) == 1, threads)
    with (
        contextlib.closing(duckdb.connect(str(database), config=settings)) as connection,
        query_pool(connection, at_once) as submit,
    ):
        install_alignment(connection)
        create_raw_tables(connection, partitions)
        rising = RisingMemory(limits)
        begun: dict[str, Future[list[Path]]] = {}
        for task in plan(catalog, partitions, targets):
            for name in task.reads:  # a computed result becomes a view over its files before the next one reads it
                if name in begun:
                    create_view(connection, catalog.views[name], begun.pop(name).result())
            if task.target is None:
                create_view(connection, task.view, task.files)
                continue
            begun[task.view.qualified] = submit(partial(_write, task.view, task.target, rising))
            if at_once == 1:  # the query may take all memory, so no views are made meanwhile either
                wait([begun[task.view.qualified]])
        for job in begun.values():
            job.result()


def _write(view: View, target: Path, memory: RisingMemory, connection: duckdb.DuckDBPyConnection) -> list[Path]:
    """Write the rows of one view to Parquet."""
    part = target / PART
    part.parent.mkdir(parents=True)
    connection.execute(CONNECTION_SETTINGS)
    if view.walk is not None:
        memory.run(connection, partial(_walk, connection, view, WALKS[view.walk], part))
    else:
        rows = f"select * exclude (run_id) from ({view.body})"
        memory.run(connection, partial(connection.execute, f"copy ({rows}) to {quoted(str(part))} ({_FORMAT})"))
    return [part]


def _walk(connection: duckdb.DuckDBPyConnection, view: View, walk: Walk, part: Path) -> None:
    """Write the result of a walk over a view's rows, a batch at a time."""
    rows = connection.sql(view.body).to_arrow_reader(_WALK_ROWS)
    with pq.ParquetWriter(part, walk.schema, **_PARQUET) as file:
        for batch in walk.run(rows):
            file.write_batch(batch)


class RisingMemory:
    """The memory limit of one database: it is raised for a statement that does not fit, for one statement at a time."""

    def __init__(self, limits: Sequence[str]) -> None:
        self._lowest, *self._higher = limits
        self._raised = Lock()

    def run(self, connection: duckdb.DuckDBPyConnection, job: Callable[[], object]) -> None:
        """Run a job on a connection under the lowest limit or, if it runs out of memory, under the next higher ones."""
        try:
            job()
        except duckdb.OutOfMemoryException:  # for example, tables joined in a recursion cannot spill
            if not self._higher:  # there is no higher limit to try
                raise
            with self._raised:
                self._run_raised(connection, job)

    def _run_raised(self, connection: duckdb.DuckDBPyConnection, job: Callable[[], object]) -> None:
        try:
            for limit in self._higher:
                try:
                    _limit(connection, limit)
                    job()
                    return
                except duckdb.OutOfMemoryException:
                    if limit == self._higher[-1]:
                        raise
        finally:
            with contextlib.suppress(duckdb.OutOfMemoryException):  # other queries already use more than that
                _limit(connection, self._lowest)


def _limit(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    connection.execute(f"set memory_limit = {quoted(memory)}")
