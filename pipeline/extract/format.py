"""What a format is: how its files are recognised, found and read, and what they belong to.

A module that reads files says so in one `Format`, and `recognition` lists them. A format is a record and not a class to
derive from: most of it is facts, and the few functions need nothing of one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from pipeline.extract.containers import COMPRESSED
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report

_NO_NAME = r"(?!)"


class Role(Enum):
    """What a file belongs to."""

    TRACE = "a run by itself; in the folder of a profile, its events"
    TASKS = "enough for a run, in the folder of a profile"
    PART = "adds to the run of a profile's folder"
    SETTINGS = "says how a profile was recorded"


class Extract(Protocol):
    """Reads a file: yields (raw table, batch), and fills the report. Raises InputError."""

    def __call__(self, path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches."""
        ...


def never(_: object) -> bool:
    """Answer no: what most formats do."""
    return False


@dataclass(frozen=True, eq=False)
class Format:
    """One kind of file.

    `detect` tells it by the beginning of the unpacked content. Where that is not enough, `detect_behind` looks further
    into files that nothing else detects, and `look` gives the role of a file that was detected, None for one that is
    not of the format after all. `is_empty` tells files that hold no rows before they are read. Those that open a file
    raise InputError where it is damaged.

    Names only say where to look, and what to report: `suffix` ends the names of all files of the format, of packed ones
    before the suffix of the compression. Patterns (of regular expressions, in any case) tell names that nothing else
    has: `names` anywhere in a name, in any folder, and `profile_names` from its start, in the folder of a profile. A
    file with such a name and in no known format is reported; others are passed over. `is_promised` says whether the
    settings of a recording promise a file of the format.
    """

    name: str
    role: Role
    suffix: str
    detect: Callable[[bytes], bool]
    extract: Extract
    may_be_packed: bool = True
    names: str = _NO_NAME
    profile_names: str = _NO_NAME
    detect_behind: Callable[[Path], bool] = never
    look: Callable[[Path], Role | None] | None = None
    is_empty: Callable[[Path], bool] = never
    is_promised: Callable[[Mapping[str, Any]], bool] = never

    def role_of(self, path: Path) -> Role | None:
        """What a file that was detected belongs to; None for one of something else. Raises InputError."""
        return self.look(path) if self.look else self.role

    def may_be(self, name: str) -> bool:
        """May a file of that name be one, by its suffix?"""
        packed = rf"(?:{COMPRESSED})?" if self.may_be_packed else ""
        return re.search(rf"{re.escape(self.suffix)}{packed}$", name, re.IGNORECASE) is not None

    def has_name(self, name: str) -> bool:
        """Does that name, in any folder, tell such a file?"""
        return re.search(self.names, name, re.IGNORECASE) is not None

    def has_profile_name(self, name: str) -> bool:
        """Does that name, in the folder of a profile, tell such a file?"""
        return re.match(self.profile_names, name, re.IGNORECASE) is not None
