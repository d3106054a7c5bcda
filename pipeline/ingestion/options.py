"""How sources are read: what a person may choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.extract import FORMS

# Called with a file and the number of bytes that were read of it.
Progress = Callable[[Path, int], None]


@dataclass(frozen=True)
class ReadOptions:
    """How sources are read. Raises UsageError for a form that there is not.

    `strict` makes a source that has to be mended, or is passed over in a folder, an error. `prefer` (`database` or
    `text`) chooses where an Ascend profile has both. `flow_category` names the only category of flows that may tell
    launches where correlation ids do not; without it any may. `memory` limits DuckDB (`2GB`; half of the machine
    without it). `workers` sources are read at once, in processes of their own if more than one (which the caller's
    main module must allow), as many as the machine bears with 0.
    """

    strict: bool = False
    prefer: str = FORMS[0]
    flow_category: str | None = None
    memory: str | None = None
    workers: int = 1
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Check the form."""
        if self.prefer not in FORMS:
            raise UsageError(f"prefer {self.prefer!r}: give one of {', '.join(FORMS)}")
