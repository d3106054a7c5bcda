"""What a format is: how its files are recognised, found and read, and what they belong to.

A module that reads a kind of file declares it as one `Format`, and `recognition` lists all of them. A format is a
record, not a base class: most of it is facts, and its few functions are independent of each other.
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
    """Reads a file: yields (raw table, batch) and fills the report. Raises InputError if it cannot."""

    def __call__(self, path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (raw table, batch)."""
        ...


def never(_: object) -> bool:
    """Always answer no, as most formats do."""
    return False


@dataclass(frozen=True, eq=False)
class Format:
    """One kind of file.

    `detect` recognises a file by the beginning of its unpacked content. If that is not enough, `detect_behind` looks
    further into files that no format has detected, and `look` returns the role of a detected file, or None if it is not
    of the format after all. `is_empty` recognises files without rows before they are read. The functions that open a
    file raise InputError if it is damaged.

    Names only say where to look and what to report. Names of all files of the format end with `suffix`, before the
    suffix of a compression. Two patterns (regular expressions that ignore case) match names that only this format has:
    `names` anywhere in a name, in any folder, and `profile_names` at its start, in the folder of a profile. A file with
    such a name that has no known format is reported; other unknown files are passed over. `is_promised` says whether
    the settings of a recording promise a file of the format.
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
        """What a detected file belongs to; None if it is not of the format after all. Raises InputError."""
        return self.look(path) if self.look else self.role

    def may_be(self, name: str) -> bool:
        """May a file of that name, by its suffix, be of the format?"""
        packed = rf"(?:{COMPRESSED})?" if self.may_be_packed else ""
        return re.search(rf"{re.escape(self.suffix)}{packed}$", name, re.IGNORECASE) is not None

    def has_name(self, name: str) -> bool:
        """Do only files of the format have such a name, in any folder?"""
        return re.search(self.names, name, re.IGNORECASE) is not None

    def has_profile_name(self, name: str) -> bool:
        """Do only files of the format have such a name, in the folder of a profile?"""
        return re.match(self.profile_names, name, re.IGNORECASE) is not None
