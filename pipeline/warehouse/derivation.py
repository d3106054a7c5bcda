"""Results that are kept per run: how they are computed, how many at once, and how much memory they get."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa

from pipeline.catalog.header import View
from pipeline.catalog.install import Partitions, quoted
from pipeline.warehouse.machine import rising_limits
from pipeline.warehouse.querypool import queries_at_once, query_pool
from pipeline.warehouse.settings import CONNECTION_SETTINGS, database_settings

# The file of a result.
PART = "part-0000.parquet"
# DuckDB's buffers, where no limit is given; what does not fit spills.
DERIVE_MEMORY = 640 << 20
# Freed memory that DuckDB keeps: getting back what was given back takes a sixth of the time of deriving.
_KEEPS = "64MiB"
# Numbers as their differences, and no dictionary begun for columns of which nearly every value is another: a tenth less
# time, and half of the bytes.
_FORMAT = "format parquet, parquet_version v2, dictionary_size_limit 4000, compression zstd, compression_level 1"


def derive(
    database: Path,
    make: Callable[..., None],
    partitions: Partitions,
    targets: Mapping[str, Path],
    memory: str | None,
    threads: int,
) -> None:
    """Compute the results that have no files among a run's partitions, each into the folder that `targets` names.

    `make` is called to complete the views of `database`; what spills lies beside it.
    `memory` limits DuckDB (`2GB`): without it, what does not fit may take more, up to half of the machine.
    """
    pa.default_memory_pool().release_unused()  # what reading has left
    limits = rising_limits(DERIVE_MEMORY, memory)
    settings = {
        **database_settings(limits[0], _KEEPS, database.parent, threads),
        "preserve_insertion_order": "false",  # rows of a partition have no order; keeping one costs memory
    }
    at_once = queries_at_once(chain.from_iterable(partitions.values()), len(limits) == 1, threads)
    with (
        contextlib.closing(duckdb.connect(str(database), config=settings)) as connection,
        query_pool(connection, at_once) as submit,
    ):
        write = partial(_write, targets, RisingMemory(limits))

        def compute(view: View) -> Future[Any]:
            begun = submit(partial(write, view))
            if at_once == 1:  # nor are views made meanwhile: what a query has taken all of is not there for them
                wait([begun])
            return begun

        make(connection, partitions=partitions, compute=compute)


def _write(
    targets: Mapping[str, Path], memory: RisingMemory, view: View, connection: duckdb.DuckDBPyConnection
) -> list[Path]:
    """Write the rows of one view."""
    part = targets[view.qualified] / PART
    part.parent.mkdir(parents=True)
    rows = f"select * exclude (run_id) from ({view.body})"
    connection.execute(CONNECTION_SETTINGS)
    memory.execute(connection, f"copy ({rows}) to {quoted(str(part))} ({_FORMAT})")
    return [part]


class RisingMemory:
    """The limit of memory of one database, raised while a statement runs that does not fit, for one at a time."""

    def __init__(self, limits: Sequence[str]) -> None:
        self._lowest, *self._higher = limits
        self._raised = Lock()

    def execute(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        """Execute a statement under the lowest limit, else under the first higher one that it fits in."""
        try:
            connection.execute(statement)
        except duckdb.OutOfMemoryException:  # what a recursion joins cannot spill: tens of millions of functions
            if not self._higher:  # it would fail again
                raise
            with self._raised:
                self._execute_raised(connection, statement)

    def _execute_raised(self, connection: duckdb.DuckDBPyConnection, statement: str) -> None:
        try:
            for limit in self._higher:
                try:
                    _limit(connection, limit)
                    connection.execute(statement)
                    return
                except duckdb.OutOfMemoryException:
                    if limit == self._higher[-1]:
                        raise
        finally:
            with contextlib.suppress(duckdb.OutOfMemoryException):  # others have taken more meanwhile, and keep it
                _limit(connection, self._lowest)


def _limit(connection: duckdb.DuckDBPyConnection, memory: str) -> None:
    connection.execute(f"set memory_limit = {quoted(memory)}")
