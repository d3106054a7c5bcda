"""What of a path is a run: trace files, and the folders that Ascend profilers write; and what their names say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract import FORMS
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.formats import (
    api_statistic,
    ascend_database,
    communication,
    kernel_details,
    kineto,
    memory_record,
    op_statistic,
    operator_details,
    operator_memory,
    profiler_info,
    step_trace_time,
)
from pipeline.extract.report import Report
from pipeline.schema import RAW_TABLES

FORMATS: tuple[ModuleType, ...] = (
    kineto,
    ascend_database,
    kernel_details,
    op_statistic,
    api_statistic,
    operator_memory,
    memory_record,
    operator_details,
    step_trace_time,
    communication,
    profiler_info,
)
# Formats that are a run by themselves; the others say something about one.
_RUNS = frozenset({kineto, ascend_database, kernel_details})
_OUTPUT = "ASCEND_PROFILER_OUTPUT"
_PROFILE = re.compile(r"_ascend_(pt|ms)$", re.IGNORECASE)
# Analyses that CANN writes beside a profile in either form; they hold no events.
_ANALYSES = frozenset({"analysis.db", "cluster_analysis.db"})
_SUFFIXES = re.compile(r"(\.pt)?(\.trace)?(\.json|\.db|\.csv)?(\.gz)?$|_ascend_(pt|ms)$", re.IGNORECASE)
# Names under which traces are handed over: such a file that is not one is named, not passed over.
_TRACE_NAME = re.compile(r"trace|\.pt\.|(?:^|[._-])rank[._-]?\d|\.gz$", re.IGNORECASE)
_RANK = re.compile(r"(?:^|[._-])rank[._-]?(\d+)(?=$|[._-])", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What one run is read from: a trace file, or the files of one profile folder, which is then `path`.

    `note` says which of two forms of the same profile was taken, None where there was no choice. `flow_category` is
    what a person calls the flows from launches to device activities: a fact of the run, which makes it another one.
    """

    path: Path
    files: tuple[Path, ...]
    name: str
    note: str | None = None
    flow_category: str | None = None

    def extract(
        self, report: Report, progress: Callable[[Path, int], None] | None = None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (raw table, batch) of all files; `report` is complete at the end. Raises InputError."""
        for file in self.files:
            found = format_of(file)
            if found is None and len(self.files) == 1:
                found = kineto  # which says what is wrong with the file
            if found is None:
                continue
            advance = (lambda size, file=file: progress(file, size)) if progress else None
            yield from found.extract(file, report, advance)
        if self.flow_category is not None:
            report.read(0, hashlib.sha256(self.flow_category.encode()).hexdigest())
            fact = {"key": "tracemill.flow_category", "value": self.flow_category}
            yield "trace_metadata", pa.RecordBatch.from_pylist([fact], schema=RAW_TABLES["trace_metadata"])

    @property
    def format(self) -> str:
        """Name of the format, or of the form of a profile folder."""
        formats = [format_of(file) or kineto for file in self.files]
        if len(formats) == 1 and self.path == self.files[0]:
            return str(formats[0].NAME)
        family = "mindspore" if self.path.name.lower().endswith("_ascend_ms") else "ascend"
        return f"{family}_{'database' if ascend_database in formats else 'text'}"


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that looks like a profile and is not read, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.path}: not read: {self.reason}"


@dataclass(frozen=True)
class Found:
    """What of a path is read, each source a run, and what looks like a profile and is not; both sorted by name."""

    sources: tuple[Source, ...]
    left_out: tuple[LeftOut, ...] = ()


def find_sources(path: Path, prefer: str = FORMS[0]) -> Found:
    """Runs of a path: the file itself, or every profile folder and trace below a folder.

    `prefer` is `database` or `text`: what to read where a profile folder has both. Raises InputError where none is.
    """
    if path.is_file():
        return Found((Source(path, (path,), label_of(path)),))
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    files = sorted(p for p in path.rglob("*") if p.is_file())
    outputs = sorted({file.parent for file in files if file.parent.name == _OUTPUT})
    if not outputs and any(format_of(p) is kernel_details for p in files if p.parent == path):
        outputs = [path]
    profiles = [_profile(output, prefer) for output in outputs]
    taken = [found for found in profiles if isinstance(found, Source)]
    inside = {root for found in taken for root in (found.path, *(file.parent for file in found.files))}
    traces = [
        found
        for file in files
        if not inside & set(file.parents)
        and file.name.lower().endswith((".json", ".json.gz", ".db"))
        and file.name not in _ANALYSES
        and (found := _trace(file))
    ]
    both = sorted((*profiles, *traces), key=lambda found: found.path)
    sources = tuple(found for found in both if isinstance(found, Source))
    left_out = tuple(found for found in both if isinstance(found, LeftOut))
    if not sources:
        looked = f"looked for .json and .json.gz with trace events, and for {_OUTPUT}"
        raise InputError(f"{path}: no trace in this folder ({'; '.join(map(str, left_out)) or looked})")
    return Found(sources, left_out)


def _trace(file: Path) -> Source | LeftOut | None:
    """The run of one file of a folder; None for a file that nothing but its suffix has in common with a trace."""
    try:
        found = format_of(file)
    except InputError as error:
        return LeftOut(file, str(error).removeprefix(f"{file}: "))
    if found in (kineto, ascend_database):
        return Source(file, (file,), label_of(file))
    if found is None and _TRACE_NAME.search(file.name):
        return LeftOut(file, "no trace events in it" if file.stat().st_size else "the file is empty")
    return None


def _profile(output: Path, prefer: str) -> Source | LeftOut:
    """The run of one folder of parsed results, or why nothing in it can be one."""
    root = output.parent if output.name == _OUTPUT else output
    files = sorted(file for file in output.iterdir() if file.is_file())
    formats = {file: found for file in files if (found := format_of(file))}
    databases = [file for file, found in formats.items() if found is ascend_database]
    mains = [file for file in databases if file.name not in _ANALYSES]
    texts = [file for file in formats if file not in databases]
    has_text = any(formats[file] in _RUNS for file in texts)
    if not mains and not has_text:
        return LeftOut(root, f"nothing in {output.name} is a trace, kernel details or a database")
    about = [
        file
        for folder in {root, output}
        for file in sorted(folder.glob("profiler_*.json"))
        if format_of(file) is profiler_info
    ]
    use_database = bool(mains) and not (has_text and prefer == "text")
    note = None
    if mains and has_text:
        used, other = ("database", "text") if use_database else ("text", "database")
        note = f"{root.name} holds text and database; the {used} was read (--prefer {other} reads the other)"
    chosen = [*mains, *(file for file in databases if file not in mains)] if use_database else texts
    chosen = [file for file in chosen if file not in about]
    # The trace first: rows of the tables are numbered behind its events.
    chosen.sort(key=lambda file: formats[file] is not kineto)
    return Source(root, (*chosen, *about), label_of(root), note)


def format_of(path: Path) -> ModuleType | None:
    """The format that the beginning of a file looks like, None for no known one. Raises InputError."""
    blocks = ByteStream(path).blocks()
    head = next(blocks, b"")
    found = next((found for found in FORMATS if found.detect(head)), None)
    return found or (kineto if kineto.detect_behind(head, blocks) else None)


def label_of(path: Path) -> str:
    """Label of a run that was given none: the name of its file or folder without the suffixes of a trace."""
    return _SUFFIXES.sub("", path.name) or path.name


def rank_of(path: Path) -> int | None:
    """Rank that a name tells (`rank3`, `rank-34`, `rank0_ascend_pt`), None where it tells none."""
    match = _RANK.search(_SUFFIXES.sub("", path.name))
    return int(match[1]) if match else None
