"""What of a path is a run: trace files, and the folders that Ascend profilers write; and what their names say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract import FORMS, recognition
from pipeline.extract.ascend import mindinsight
from pipeline.extract.ascend.folder import OUTPUT, PROFILE, Folder, folders
from pipeline.extract.ascend.selection import select
from pipeline.extract.bytestream import beginning
from pipeline.extract.containers import ARCHIVE
from pipeline.extract.filename import label_of
from pipeline.extract.format import Role
from pipeline.extract.means import Means
from pipeline.extract.recognition import format_of, reader_of
from pipeline.extract.report import Report
from pipeline.extract.walk import LeftOut, below
from pipeline.schema import RAW_TABLES

_ARCHIVE = re.compile(rf"{ARCHIVE}$", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What one run is read from: a trace file, or the files of one profile folder, which is then `path`.

    `note` says which of two forms of the same profile was taken, and what of it is not read; None where there is
    nothing to say. `troubles` are kinds of what the profile lacks, and the files. `flow_category` is what a person
    calls the flows from launches to device activities: a fact of the run, which makes it another one. `profile_format`
    names the form of a profile folder; None for a file.
    """

    path: Path
    files: tuple[Path, ...]
    name: str
    note: str | None = None
    troubles: tuple[tuple[str, tuple[str, ...]], ...] = ()
    flow_category: str | None = None
    profile_format: str | None = None

    def extract(
        self, report: Report, progress: Callable[[Path, int], None] | None = None, threads: int = 1
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield (raw table, batch) of all files; `report` is complete at the end.

        Raises InputError for a file that cannot be read, and where all files together hold nothing.
        """
        for file in self.files:
            found = reader_of(file) if len(self.files) == 1 else format_of(file)
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
        return self.profile_format or reader_of(self.path).name


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
        if mindinsight.is_one(path.name, beginning(path)):
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
    traces = [found for file in files if file not in old and _may_be_run(file.name) and (found := _trace(file))]
    both = sorted((*profiles, *traces, *_refused(old), *unreadable), key=lambda found: found.path)
    sources = tuple(found for found in both if isinstance(found, Source))
    left_out = _reported([found for found in both if isinstance(found, LeftOut)], sources)
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
                source = Source(folder.root, chosen.files, label_of(folder.root), chosen.note, chosen.troubles)
                profiles.append(replace(source, profile_format=chosen.format))
                owned |= folder.owned
    return profiles, owned


def _reported(left_out: list[LeftOut], sources: tuple[Source, ...]) -> tuple[LeftOut, ...]:
    """What is left out, without folders that something is read from, and files of folders that are reported as such."""
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
        return file.name.lower().endswith(".json") and mindinsight.is_one(file.name, beginning(file))
    except InputError:  # reported where it is read
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


def _may_be_run(name: str) -> bool:
    """May a file of a folder be a run, by its name? A link to nothing may have the name of a profile's folder."""
    traces = (known for known in recognition.FORMATS if known.role is Role.TRACE)
    return bool(_ARCHIVE.search(name) or PROFILE.search(name)) or any(known.may_be(name) for known in traces)


def _trace(file: Path) -> Source | LeftOut | None:
    """The run of one file of a folder; None for a file that nothing but its suffix has in common with a trace."""
    if not file.is_file():
        return LeftOut(file, "a link to nothing") if file.is_symlink() else None
    is_named = any(known.has_name(file.name) for known in recognition.FORMATS)
    try:
        found = format_of(file)
        role = found.role_of(file) if found else None
    except InputError as error:
        reason = str(error).removeprefix(f"{file}: ")
        looks = not _ARCHIVE.search(file.name) or is_named or ".json" in reason
        return LeftOut(file, reason) if looks else None
    if found is None and is_named:
        return LeftOut(file, "no trace events in it" if file.stat().st_size else "the file is empty")
    if found is None or role is not Role.TRACE:
        return None
    return LeftOut(file, "it holds no events") if found.is_empty(file) else Source(file, (file,), label_of(file))
