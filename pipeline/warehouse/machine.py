"""The memory and cores of the machine or container. DuckDB may take half of the memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipeline.errors import UsageError

# The memory limit of a Linux control group, versions 2 and 1; `max` or an enormous number means no limit.
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


def memory_limit(given: str | None = None) -> str:
    """A size that DuckDB understands: the given one (`2GB`), else half of the memory of the machine or container.

    Raises UsageError if the given text is not a size.
    """
    if given is None:
        return _mebibytes(available_bytes() // 2)
    if not _SIZE.fullmatch(given.strip()):
        raise UsageError(f"{given!r} is not a size; write it like 2GB or 512MiB")
    return given.strip()


def rising_limits(lowest: int, given: str | None = None) -> list[str]:
    """Memory limits to try in turn: only the given one, or else `lowest` bytes, doubled up to half of the memory."""
    if given is not None:
        return [memory_limit(given)]
    sizes, most = [lowest], available_bytes() // 2
    while sizes[-1] < most:
        sizes.append(min(2 * sizes[-1], most))
    return [_mebibytes(size) for size in sizes]


def _mebibytes(size: int) -> str:
    return f"{size >> 20}MiB"


def available_bytes() -> int:
    """Memory of the machine, or of the control group if that is less."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        try:
            sizes.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return min(sizes)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
