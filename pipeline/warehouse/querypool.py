"""Concurrent queries of one database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import duckdb

# From raw partitions of more bytes, those of traces of some hundred megabytes, queries are answered one after another,
# as they are where there is no more memory to be had: each may take all of it, and two at once would spill or fail.
LARGE_RUN_BYTES = 16 << 20
_AGAIN_SECONDS = 0.05
Job = Callable[[duckdb.DuckDBPyConnection], Any]


def queries_at_once(partitions: Iterable[Path], is_limited: bool, cores: int) -> int:
    """How many queries over the partitions of a run to answer at once."""
    is_large = sum(path.stat().st_size for path in partitions) > LARGE_RUN_BYTES
    return 1 if is_limited or is_large else cores


@contextlib.contextmanager
def query_pool(connection: duckdb.DuckDBPyConnection, size: int) -> Iterator[Callable[[Job], Future[Any]]]:
    """A function that begins a job in a thread, on a connection of its own to the database that the given one uses.

    All jobs have ended after the block; on error or interrupt they are interrupted.
    """
    threads = ThreadPoolExecutor(size)
    begun: dict[Future[Any], duckdb.DuckDBPyConnection] = {}
    ((database,),) = connection.execute("select current_database()").fetchall()

    def submit(job: Job) -> Future[Any]:
        cursor = connection.cursor()
        cursor.execute(f'use "{database}"')
        future = threads.submit(_run, job, cursor)
        begun[future] = cursor
        return future

    try:
        yield submit
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        while running := [future for future in begun if not future.done()]:  # those cancelled are
            for future in running:
                with contextlib.suppress(duckdb.ConnectionException):  # it has just ended
                    begun[future].interrupt()
            wait(running, timeout=_AGAIN_SECONDS)  # an interrupt just before a query is lost
        raise
    finally:
        threads.shutdown()
        for cursor in begun.values():  # those of jobs that were cancelled
            cursor.close()


def _run(job: Job, cursor: duckdb.DuckDBPyConnection) -> Any:
    """The job's answer; what its last query has reserved is free for the next job's."""
    with contextlib.closing(cursor):
        return job(cursor)
