"""What the reader of a format may use beside the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Means:
    """`progress` is called with the number of bytes read from disk; so many `threads` may parse at once."""

    progress: Callable[[int], None] | None = None
    threads: int = 1


ALONE = Means()
