"""Queries of one database beside one another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import duckdb

_AGAIN_SECONDS = 0.05
Job = Callable[[duckdb.DuckDBPyConnection], Any]


@contextlib.contextmanager
def query_pool(connection: duckdb.DuckDBPyConnection, size: int) -> Iterator[Callable[[Job], Future[Any]]]:
    """A function that begins a job in a thread, on a connection of its own to the database that the given one uses.

    All jobs have ended behind the block; where it fails, an interrupt among it, they are interrupted.
    """
    threads = ThreadPoolExecutor(size)
    begun: dict[Future[Any], duckdb.DuckDBPyConnection] = {}
    ((database,),) = connection.execute("select current_database()").fetchall()

    def submit(job: Job) -> Future[Any]:
        cursor = connection.cursor()
        cursor.execute(f'use "{database}"')
        future = threads.submit(job, cursor)
        begun[future] = cursor
        return future

    try:
        yield submit
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        while running := [future for future in begun if not future.done()]:  # those cancelled are
            for future in running:
                begun[future].interrupt()
            wait(running, timeout=_AGAIN_SECONDS)  # an interrupt just before a query is lost
        raise
    finally:
        threads.shutdown()
        for cursor in begun.values():
            cursor.close()
