"""Which files of a path are traces, and what their names say."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.formats import kineto

FORMATS: tuple[ModuleType, ...] = (kineto,)
_SUFFIXES = re.compile(r"(\.pt)?(\.trace)?(\.json)?(\.gz)?$", re.IGNORECASE)
_RANK = re.compile(r"(?:^|[._-])rank[._-]?(\d+)(?=$|[._-])", re.IGNORECASE)


def find_sources(path: Path) -> list[Path]:
    """Trace files of a path: the file itself, or every trace below a folder, sorted by name.

    Raises InputError where there is none.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    candidates = sorted(p for p in path.rglob("*") if p.is_file() and p.name.lower().endswith((".json", ".json.gz")))
    sources = [p for p in candidates if any(source_format.detect(_head(p)) for source_format in FORMATS)]
    if not sources:
        raise InputError(f"{path}: no trace in this folder (looked for .json and .json.gz with trace events)")
    return sources


def label_of(path: Path) -> str:
    """Label of a trace that was given none: its file name without the suffixes of a trace."""
    return _SUFFIXES.sub("", path.name) or path.name


def rank_of(path: Path) -> int | None:
    """Rank that a file name tells (`rank3`, `rank-34`), None where it tells none."""
    match = _RANK.search(_SUFFIXES.sub("", path.name))
    return int(match[1]) if match else None


def _head(path: Path) -> bytes:
    return next(ByteStream(path).blocks(), b"")
