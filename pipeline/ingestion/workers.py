"""Runs jobs on several sources: at once in processes of their own, or one after another in this process."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.errors import TracemillError
from pipeline.ingestion.options import Progress
from pipeline.warehouse.machine import available_bytes, usable_cores

if TYPE_CHECKING:
    from pipeline.extract.source import Source

Item = TypeVar("Item")
# Peak memory of one worker; as many run at once as fit into half of the memory.
WORKER_BYTES = 1 << 30
# Smaller sources are not worth a process: they are read before one has started.
SMALL_BYTES = 4 << 20

_reported: Any = None  # in a worker process: the queue of (file, bytes read)


class _Inline(Executor):
    """Runs each job when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def worker_count(sources: Sequence[Source]) -> int:
    """How many sources to read at once: those worth a process, as far as cores and memory allow."""
    large = sum(size >= SMALL_BYTES for size in _sizes(sources))
    return max(1, min(large, usable_cores(), available_bytes() // 2 // WORKER_BYTES))


def core_shares(sources: Sequence[Source], workers: int) -> Iterator[int]:
    """Cores for each source: every `workers` sources share all cores by their sizes; a source on its own gets all."""
    sizes = _sizes(sources)
    for place, size in enumerate(sizes):
        first = place - place % workers
        beside = sizes[first : first + workers]
        yield usable_cores() if len(beside) == 1 else max(1, round(usable_cores() * size / max(1, sum(beside))))


def _sizes(sources: Sequence[Source]) -> list[int]:
    return [sum(file.stat().st_size for file in source.files) for source in sources]


@contextlib.contextmanager
def executor(workers: int, progress: Progress | None) -> Iterator[tuple[Executor, Progress | None]]:
    """An executor, and the progress callback for its jobs.

    Processes are spawned, not forked, since DuckDB and Arrow use threads. A script that asks for more than one worker
    must therefore be importable (`if __name__ == "__main__":`).
    """
    if workers == 1:
        yield _Inline(), progress
        return
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    listener = threading.Thread(target=_listen, args=(queue, progress or (lambda *_: None)), daemon=True)
    listener.start()
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(queue if progress else None,))
    try:
        try:
            yield pool, _report
        finally:
            pool.shutdown(cancel_futures=True)  # waits for the jobs that run: they write into folders of the caller
    finally:
        queue.put(None)
        listener.join()


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield the items, keeping up to `count` of them begun. If an item fails, those before it are yielded first."""
    window: deque[Item] = deque()
    failure = None
    try:
        for item in items:
            window.append(item)
            if len(window) >= count:
                yield window.popleft()
    except TracemillError as error:
        failure = error
    yield from window
    if failure is not None:
        raise failure


def _start(queue: Any) -> None:
    """Prepare a worker process: an interrupt ends it without a traceback, and it ends when its parent does."""
    global _reported  # noqa: PLW0603  (one for the life of the process)
    _reported = queue
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent has ended: a killed parent sends no message, and the worker would wait for jobs forever."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _report(file: Path, size: int) -> None:
    if _reported is not None:
        _reported.put((file, size))


def _listen(queue: Any, progress: Progress) -> None:
    while (item := queue.get()) is not None:
        progress(*item)
