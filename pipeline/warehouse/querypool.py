"""Concurrent queries on one database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import duckdb

# Queries over a run with more bytes of raw partitions than this (a trace of some hundred megabytes), or under a memory
# limit, run one after another: each may take all memory, and two at once would spill or fail.
LARGE_RUN_BYTES = 16 << 20
_AGAIN_SECONDS = 0.05
Job = Callable[[duckdb.DuckDBPyConnection], Any]


def queries_at_once(partitions: Iterable[Path], is_limited: bool, cores: int) -> int:
    """How many queries over the partitions of one run to answer at once."""
    is_large = sum(path.stat().st_size for path in partitions) > LARGE_RUN_BYTES
    return 1 if is_limited or is_large else cores


@contextlib.contextmanager
def query_pool(connection: duckdb.DuckDBPyConnection, size: int) -> Iterator[Callable[[Job], Future[Any]]]:
    """A function that starts a job in a thread, on its own connection to the current database of `connection`.

    All jobs have ended when the block ends; an error or interrupt in the block interrupts them.
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
        while running := [future for future in begun if not future.done()]:  # cancelled futures are done
            for future in running:
                with contextlib.suppress(duckdb.ConnectionException):  # it has just ended
                    begun[future].interrupt()
            wait(running, timeout=_AGAIN_SECONDS)  # an interrupt just before a query starts is lost, so try again
        raise
    finally:
        threads.shutdown()
        for cursor in begun.values():  # cancelled jobs have not closed theirs
            cursor.close()


def _run(job: Job, cursor: duckdb.DuckDBPyConnection) -> Any:
    """Run the job, then close its connection: what its last query has reserved is free for other jobs."""
    with contextlib.closing(cursor):
        return job(cursor)
