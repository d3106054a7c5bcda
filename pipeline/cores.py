"""How many cores of the processor this process takes: all that it may run on, or its share beside other workers."""

from __future__ import annotations

import os

_taken: int | None = None


def cores() -> int:
    """Cores to use: what was taken last, else all that the process may run on."""
    if _taken is not None:
        return _taken
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def take(count: int) -> None:
    """Use so many from now on. Workers that each use all cores take an eighth longer than with a share each."""
    global _taken  # noqa: PLW0603  (one for the process)
    _taken = count
