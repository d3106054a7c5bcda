"""Options for how sources are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.extract import FORMS

# Called with a file and the number of its bytes that were read since the last call.
Progress = Callable[[Path, int], None]


@dataclass(frozen=True)
class ReadOptions:
    """How sources are read. Raises UsageError for an unknown form.

    `strict` makes it an error if a source has to be mended, or if one in a folder is left out. `prefer` (`database` or
    `text`) decides if an Ascend profile has both. `flow_category` restricts the flows that identify launches, where
    correlation ids do not, to one category; without it flows of any category do. `memory` limits DuckDB (`2GB`).
    `workers` is the number of sources to read at once; 0 means as many as cores and memory allow. More than one are
    read in processes of their own, so the caller's main module must be importable. `lazy` leaves results to be computed
    when a comparison or query first needs them; only problems that are found while reading are reported then.
    """

    strict: bool = False
    prefer: str = FORMS[0]
    flow_category: str | None = None
    memory: str | None = None
    workers: int = 1
    progress: Progress | None = None
    lazy: bool = False

    def __post_init__(self) -> None:
        """Check `prefer`."""
        if self.prefer not in FORMS:
            raise UsageError(f"prefer {self.prefer!r}: give one of {', '.join(FORMS)}")
