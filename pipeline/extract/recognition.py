"""Which format a file is in: by the beginning of its content, never by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from pipeline.extract.ascend import communication, profiler_info
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend import tables as ascend_csv
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report
from pipeline.extract.trace import kineto


class Format(Protocol):
    """A module or an object that reads one kind of file."""

    @property
    def NAME(self) -> str:
        """Name of the format."""
        ...

    def detect(self, head: bytes) -> bool:
        """Does the beginning of a file look like it?"""
        ...

    def extract(self, path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (raw table, batch) of a file. Raises InputError."""
        ...


FORMATS: tuple[Format, ...] = (kineto, ascend_database, *ascend_csv.TABLES, communication, profiler_info)


def format_of(path: Path) -> Format | None:
    """The format that the beginning of a file looks like, None for no known one. Raises InputError."""
    blocks = ByteStream(path).blocks()
    head = next(blocks, b"")
    found = next((found for found in FORMATS if found.detect(head)), None)
    return found or (kineto if kineto.detect_behind(head, blocks) else None)
