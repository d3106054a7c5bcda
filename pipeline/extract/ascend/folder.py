"""Folders that Ascend profilers and msprof write: where they are, and which of their files a run is read from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.extract.ascend import communication, profiler_info
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend import tables as ascend_csv
from pipeline.extract.recognition import Format, format_of
from pipeline.extract.trace import kineto

OUTPUT = "ASCEND_PROFILER_OUTPUT"
MSPROF_OUTPUT = "mindstudio_profiler_output"
PROFILE = re.compile(r"_ascend_(pt|ms)$", re.IGNORECASE)
_RAW = re.compile(r"PROF_(?!GROUP_)", re.IGNORECASE)
_SIDE = re.compile(r"device_\d+|host")
_KNOWN_SUFFIX = (".csv", ".json", ".json.gz", ".db")
_STAMP = re.compile(r"_(\d{14})(?=\.[a-z]+$)")
# Formats that are a run by themselves; the others say something about one.
_RUNS: tuple[Format, ...] = (kineto, ascend_csv.kernel_details, ascend_csv.task_time)


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that looks like a profile and is not read, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.path}: not read: {self.reason}"


@dataclass(frozen=True)
class Folder:
    """A profile: the folder that names it, and the files that its run may be read from."""

    root: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Selection:
    """Files that the run of a folder is read from. `note` says what of it is not, `troubles` what it lacks."""

    files: tuple[Path, ...]
    note: str | None
    troubles: tuple[tuple[str, tuple[str, ...]], ...]


def folders(path: Path, entries: Iterable[Path]) -> list[Folder | LeftOut]:
    """Profile folders at, around or below a path; `entries` is all that is below it.

    What msprof exported below the folder of a framework belongs to that one, which repeats it.
    """
    directories = [path, *(entry for entry in entries if entry.is_dir())]
    frameworks = [folder.parent for folder in directories if folder.name == OUTPUT]
    found: list[Folder | LeftOut] = [Folder(root, _files(root / OUTPUT)) for root in frameworks]
    exported = {root for folder in directories if (root := _msprof_root(folder))}
    exports = [Folder(root, _msprof_files(root)) for root in sorted(exported)]
    if not found and not exports and _is_bare(path):
        return [Folder(path, _files(path))]
    for folder in directories:
        if _RAW.match(folder.name) and folder not in exported and any(folder.glob("device_*")):
            reason = "raw data that is not exported; run msprof --export=on --output=FOLDER"
            found.append(LeftOut(folder, reason))
        elif PROFILE.search(folder.name) and folder not in frameworks:
            reason = f"it has no {OUTPUT}; let the framework's profiler analyse it"
            found.append(LeftOut(folder, reason))
    return [*found, *exports]


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted((file for file in folder.glob("*") if file.is_file()), key=_in_order))


def _in_order(file: Path) -> list[tuple[int, str]]:
    """Slices by number, so that the tenth comes behind the second."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", file.name)]


def _msprof_root(folder: Path) -> Path | None:
    """The folder of an export of msprof that a folder is, or belongs to; of 2023 there is one for each device."""
    if folder.name == MSPROF_OUTPUT:
        return folder.parent
    if folder.name in ("timeline", "summary") and _SIDE.fullmatch(folder.parent.name):
        return folder.parent.parent
    if _RAW.match(folder.name) and any(folder.glob("msprof_*.db")):
        return folder
    return None


def _msprof_files(root: Path) -> tuple[Path, ...]:
    parts = [MSPROF_OUTPUT]
    if not (root / MSPROF_OUTPUT).is_dir():
        sides = sorted(side.name for side in root.glob("*") if _SIDE.fullmatch(side.name))
        timelines = [side for side in sides if (root / side / "timeline").is_dir()]
        # The timeline of a device has the calls of the host, too.
        parts = [f"{side}/timeline" for side in timelines if side != "host" or len(timelines) == 1]
        parts += [f"{side}/summary" for side in sides]
    return (*(file for part in (*parts, "analyze") for file in _files(root / part)), *sorted(root.glob("msprof_*.db")))


def _is_bare(folder: Path) -> bool:
    """Does a folder of any name hold tables of a run, beside its trace or without one?"""
    formats = [format_of(file) for file in _files(folder) if file.name.lower().endswith(".csv")]
    return any(found is ascend_csv.kernel_details or found is ascend_csv.task_time for found in formats) or (
        any(found in ascend_csv.TABLES for found in formats) and any(folder.glob("msprof_*.json"))
    )


def select(folder: Folder, prefer: str) -> Selection | LeftOut:
    """What to read of a folder that may hold text, a database or both; or why there is nothing to."""
    formats: dict[Path, Format] = {}
    empty: list[str] = []
    unread: dict[str, list[str]] = {}
    for file in folder.files:
        found = format_of(file)
        if not file.stat().st_size and file.name.lower().endswith(_KNOWN_SUFFIX):
            empty.append(file.name)
        elif found is not None:
            formats[file] = found
        elif file.name.lower().endswith(_KNOWN_SUFFIX):
            unread.setdefault("nothing here shows what they hold", []).append(file.name)
    for file, reason in list(_repeated(formats)):
        del formats[file]
        unread.setdefault(reason, []).append(file.name)
    about = [file for file, found in formats.items() if found is profiler_info]
    about += [file for file in sorted(folder.root.glob("profiler_*.json")) if format_of(file) is profiler_info]
    chosen, note = _form(folder.root, formats, prefer)
    if not chosen:
        return LeftOut(folder.root, _nothing(formats, empty))
    is_text = not any(formats[file] is ascend_database and _is_run(file) for file in chosen)
    missing = list(_missing(set(map(formats.get, chosen)), folder, about)) if is_text else []
    troubles = tuple(
        (kind, tuple(names)) for kind, names in (("empty_file", empty), ("missing_table", missing)) if names
    )
    said = [f"{', '.join(names)} ({reason})" for reason, names in unread.items()]
    notes = [note, f"{folder.root.name}: not read: {'; '.join(said)}" if said else None]
    files = [file for file in chosen if file not in about]
    # The trace first: rows of the tables are numbered behind its events.
    files.sort(key=lambda file: formats[file] is not kineto)
    return Selection((*files, *dict.fromkeys(about)), "; ".join(filter(None, notes)) or None, troubles)


def _repeated(formats: dict[Path, Format]) -> Iterator[tuple[Path, str]]:
    """Files that say again what others say, and what of them is read instead."""
    newest: dict[tuple[Path, str], str] = {}
    for file in formats:
        if stamp := _STAMP.search(file.name):
            key = (file.parent, _STAMP.sub("", file.name))
            newest[key] = max(stamp[1], newest.get(key, ""))
    traces = [file for file, found in formats.items() if found is kineto]
    mains = [file for file in traces if file.name.startswith("msprof")]
    has_kernels = bool(traces) or ascend_csv.kernel_details in formats.values()
    for file, found in formats.items():
        stamp = _STAMP.search(file.name)
        if stamp and stamp[1] < newest[file.parent, _STAMP.sub("", file.name)]:
            yield file, "a later export is read"
        elif found is kineto and mains and file not in mains:
            yield file, "msprof_*.json has what they show"
        elif found is ascend_csv.task_time and has_kernels:
            yield file, "the trace and op_summary have the tasks"


def _form(root: Path, formats: dict[Path, Format], prefer: str) -> tuple[list[Path], str | None]:
    """Files of the form that is read, text or database; none where there is neither. And what is said of the other."""
    databases = [file for file, found in formats.items() if found is ascend_database]
    mains = [file for file in databases if _is_run(file)]
    texts = [file for file in formats if file not in databases]
    has_text = any(formats[file] in _RUNS for file in texts)
    if not mains and not has_text:
        return [], None
    use_database = bool(mains) and not (has_text and prefer == "text")
    # CANN writes its analysis of collectives as JSON, as a database or both, beside a profile in either form.
    analyses = [file for file in databases if file not in mains and ascend_database.is_analysis(file)]
    analysed = [file for file in texts if formats[file] is communication]
    note = None
    if mains and has_text:
        used, other = ("database", "text") if use_database else ("text", "database")
        note = f"{root.name} holds text and database; the {used} was read (--prefer {other} reads the other)"
    if use_database:
        return [*mains, *(analyses or analysed)], note
    return [*texts, *(() if analysed else analyses)], note


def _is_run(database: Path) -> bool:
    """Does a database hold what ran? Of a damaged one its reader says what is wrong."""
    try:
        return ascend_database.is_profile(database)
    except InputError:
        return True


def _nothing(formats: dict[Path, Format], empty: list[str]) -> str:
    held = [file.name for file in formats if formats[file] is not profiler_info]
    held += [f"{name} (empty)" for name in empty]
    if not held:
        return "nothing in it is a trace, kernel details or a database"
    return f"it holds {', '.join(held)} alone, and no trace, kernel details or database"


def _missing(there: set[Format | None], folder: Folder, about: Iterable[Path]) -> Iterator[str]:
    """Tables that a profile of text has by its settings, and this one has not."""
    settings: dict[str, Any] = {}
    for file in about:
        settings |= _settings(file)
    is_msprof = not (folder.root / OUTPUT).is_dir()
    yield from ("msprof_*.json" if is_msprof else "trace_view.json",) if kineto not in there else ()
    if not there & {ascend_csv.kernel_details, ascend_csv.task_time}:
        yield "op_summary_*.csv" if is_msprof else "kernel_details.csv"
    wanted = [ascend_csv.memory_record, ascend_csv.operator_memory] if settings.get("profile_memory") is True else []
    if settings.get("_profiler_level", settings.get("profiler_level")) in ("Level1", "Level2"):
        wanted += [ascend_csv.op_statistic, ascend_csv.api_statistic]
    yield from (f"{table.NAME}.csv" for table in wanted if table not in there)


def _settings(file: Path) -> dict[str, Any]:
    """Settings of the recording, without their nesting; none where the file is damaged, which its reader tells."""
    try:
        known = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    todo = [known]
    while todo:
        if isinstance(value := todo.pop(), dict):
            found |= value
            todo += value.values()
    return found
