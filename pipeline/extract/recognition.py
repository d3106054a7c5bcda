"""Which format a file is in: by its content, never by its name. Here is the one list of formats."""

from __future__ import annotations

from pathlib import Path

from pipeline.extract.ascend import communication, database, profiler_info, tables
from pipeline.extract.bytestream import beginning
from pipeline.extract.format import Format
from pipeline.extract.trace import kineto

FORMATS: tuple[Format, ...] = (
    kineto.FORMAT,
    database.FORMAT,
    *tables.TABLES,
    communication.FORMAT,
    profiler_info.FORMAT,
)


def format_of(path: Path) -> Format | None:
    """The format that the content of a file looks like, None for no known one. Raises InputError."""
    head = beginning(path)
    return next((found for found in FORMATS if found.detect(head)), None) or next(
        (found for found in FORMATS if found.detect_behind(path)), None
    )


def reader_of(path: Path) -> Format:
    """The format to read a file in; for one in no known format the first, whose reader says what is wrong with it."""
    return format_of(path) or FORMATS[0]
