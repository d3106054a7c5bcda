"""What of a path is a run: trace files, and the folders that Ascend profilers write; and what their names say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract import FORMS
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend import mindinsight
from pipeline.extract.ascend.folder import OUTPUT, PROFILE, Folder, folders
from pipeline.extract.ascend.selection import select
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.filename import ARCHIVE, COMPRESSED, label_of
from pipeline.extract.means import Means
from pipeline.extract.recognition import Format, format_of
from pipeline.extract.report import Report
from pipeline.extract.trace import kineto
from pipeline.extract.walk import LeftOut, below
from pipeline.schema import RAW_TABLES

_MAY_BE_PROFILE = re.compile(rf"(?:\.json(?:{COMPRESSED})?|\.db|{ARCHIVE}|{PROFILE.pattern})$", re.IGNORECASE)
# Names under which traces are handed over: such a file that is not one is named, not passed over.
_OF_ANYTHING = re.compile(rf"{ARCHIVE}$", re.IGNORECASE)
_TRACE_NAME = re.compile(r"trace|\.pt\.|(?:^|[._-])rank[._-]?\d|\.gz$", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What one run is read from: a trace file, or the files of one profile folder, which is then `path`.

    `note` says which of two forms of the same profile was taken, and what of it is not read; None where there is
    nothing to say. `troubles` are kinds of what the profile lacks, and the files. `flow_category` is what a person
    calls the flows from launches to device activities: a fact of the run, which makes it another one.
    """

    path: Path
    files: tuple[Path, ...]
    name: str
    note: str | None = None
    troubles: tuple[tuple[str, tuple[str, ...]], ...] = ()
    flow_category: str | None = None

    def extract(
        self, report: Report, progress: Callable[[Path, int], None] | None = None, threads: int = 1
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (raw table, batch) of all files; `report` is complete at the end.

        Raises InputError for a file that cannot be read, and where all files together hold nothing.
        """
        for file in self.files:
            found: Format | None = format_of(file)
            if found is None and len(self.files) == 1:
                found = kineto  # which says what is wrong with the file
            if found is None:
                continue
            advance = (lambda size, file=file: progress(file, size)) if progress else None
            yield from found.extract(file, report, Means(advance, threads))
        if not report.event_count:
            dropped = report.dropped_count
            held = f"none of its {dropped} events can be read" if dropped else "it holds no events"
            raise InputError(f"{self.path}: {held}; record the profile again")
        for kind, names in self.troubles:
            report.problem(kind, len(names), detail=", ".join(names))
        if self.flow_category is not None:
            report.read(0, hashlib.sha256(self.flow_category.encode()).hexdigest())
            fact = {"key": "tracemill.flow_category", "value": self.flow_category}
            yield "trace_metadata", pa.RecordBatch.from_pylist([fact], schema=RAW_TABLES["trace_metadata"])

    @property
    def format(self) -> str:
        """Name of the format, or of the form of a profile folder."""
        formats: list[Format] = [format_of(file) or kineto for file in self.files]
        if len(formats) == 1 and self.path == self.files[0]:
            return formats[0].NAME
        name = self.path.name.lower()
        family = "mindspore" if name.endswith("_ascend_ms") else "msprof" if name.startswith("prof_") else "ascend"
        is_database = any(
            found is ascend_database and ascend_database.is_profile(file)
            for file, found in zip(self.files, formats, strict=True)
        )
        return f"{family}_{'database' if is_database else 'text'}"


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
        if mindinsight.is_one(path.name, next(ByteStream(path).blocks(), b"")):
            raise InputError(f"{path}: not read: {mindinsight.REASON}")
        return Found((Source(path, (path,), label_of(path)),))
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    if path.name in ("", ".."):
        path = path.resolve()
    entries, unreadable = below(path)
    profiles, owned = _profiles(folders(path, entries), prefer)
    files = [file for file in entries if not file.is_dir() and not owned & {file, *file.parents}]
    old = [file for file in files if _is_mindinsights(file)]
    traces = [
        found for file in files if file not in old and _MAY_BE_PROFILE.search(file.name) and (found := _trace(file))
    ]
    both = sorted((*profiles, *traces, *_refused(old), *unreadable), key=lambda found: found.path)
    sources = tuple(found for found in both if isinstance(found, Source))
    left_out = _told([found for found in both if isinstance(found, LeftOut)], sources)
    if not sources:
        looked = f"looked for .json, plain or packed, with trace events, for {OUTPUT} and for exports of msprof"
        raise InputError(f"{path}: no trace in this folder ({'; '.join(map(str, left_out)) or looked})")
    return Found(sources, left_out)


def _profiles(found: list[Folder | LeftOut], prefer: str) -> tuple[list[Source | LeftOut], set[Path]]:
    """The runs of profile folders, and the files and folders that belong to them."""
    profiles: list[Source | LeftOut] = []
    owned: set[Path] = set()
    for folder in found:
        if isinstance(folder, LeftOut):
            if not owned & set(folder.path.parents):
                profiles.append(folder)
        elif not owned & set(folder.root.parents):
            chosen = select(folder, prefer)
            if isinstance(chosen, LeftOut):
                profiles.append(chosen)
            else:
                name = label_of(folder.root)
                profiles.append(Source(folder.root, chosen.files, name, chosen.note, chosen.troubles))
                owned |= folder.owned
    return profiles, owned


def _told(left_out: list[LeftOut], sources: tuple[Source, ...]) -> tuple[LeftOut, ...]:
    """What is left out, but for folders that something is read from, and for files of a folder that is told itself."""
    read = {parent for source in sources for parent in source.path.parents}
    known = {found.path for found in left_out}
    return tuple(found for found in left_out if found.path not in read and not known & set(found.path.parents))


def _is_mindinsights(file: Path) -> bool:
    """Is a file of a folder one for MindInsight? Of those with other names, only JSON can be."""
    if not file.is_file():
        return False
    if mindinsight.is_one(file.name, b""):
        return True
    try:
        return file.name.lower().endswith(".json") and mindinsight.is_one(
            file.name, next(ByteStream(file).blocks(), b"")
        )
    except InputError:  # told where it is read
        return False


def _refused(old: list[Path]) -> list[LeftOut]:
    """One line for MindInsight's files of each folder, of which there may be dozens."""
    by_folder: dict[Path, list[Path]] = {}
    for file in old:
        by_folder.setdefault(file.parent, []).append(file)
    return [
        LeftOut(files[0], f"{mindinsight.REASON}" + (f" ({len(files)} such files here)" if len(files) > 1 else ""))
        for files in by_folder.values()
    ]


def _trace(file: Path) -> Source | LeftOut | None:
    """The run of one file of a folder; None for a file that nothing but its suffix has in common with a trace."""
    if not file.is_file():
        return LeftOut(file, "a link to nothing") if file.is_symlink() else None
    try:
        found = format_of(file)
        if found is ascend_database and not ascend_database.is_profile(file):
            return None
    except InputError as error:
        reason = str(error).removeprefix(f"{file}: ")
        looks = not _OF_ANYTHING.search(file.name) or _TRACE_NAME.search(file.name) or ".json" in reason
        return LeftOut(file, reason) if looks else None
    if found is kineto and kineto.is_empty(file):
        return LeftOut(file, "it holds no events")
    if found is kineto or found is ascend_database:
        return Source(file, (file,), label_of(file))
    if found is None and _TRACE_NAME.search(file.name):
        return LeftOut(file, "no trace events in it" if file.stat().st_size else "the file is empty")
    return None
