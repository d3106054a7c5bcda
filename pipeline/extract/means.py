"""What the reader of a format may use besides the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Means:
    """`progress` is called with numbers of bytes read from disk; up to `threads` threads may parse at once."""

    progress: Callable[[int], None] | None = None
    threads: int = 1


ALONE = Means()
