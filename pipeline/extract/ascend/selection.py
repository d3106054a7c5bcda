"""Which files of a profile's folder its run is read from, and what is said of the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.extract.ascend import communication, profiler_info
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend import tables as ascend_csv
from pipeline.extract.ascend.folder import OUTPUT, Folder
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.recognition import Format, format_of
from pipeline.extract.trace import kineto
from pipeline.extract.walk import LeftOut

_KNOWN_SUFFIX = (".csv", ".json", ".json.gz", ".db")
_STAMP = re.compile(r"_(\d{14})(?=\.[a-z]+$)")
# What msprof itself writes, in a folder of any name.
_OF_MSPROF = ("msprof", "op_summary", "task_time")
# Names of what is read. A file that has one and is in none of the formats is told as a trouble.
_NAMES = re.compile(
    rf"(?:{'|'.join(table.NAME for table in ascend_csv.TABLES)})[_\d]*(?:slice[_\d]*)?\.csv"
    r"|(?:trace_view|msprof(?:_slice)?|communication|communication_matrix)[_\d]*\.json"
    r"|(?:ascend_\w+_profiler|msprof|msmonitor|analysis|communication_analyzer)[-_\d]*\.db",
    re.IGNORECASE,
)
# Formats that are a run by themselves; the others say something about one.
_RUNS: tuple[Format, ...] = (kineto, ascend_csv.kernel_details, ascend_csv.task_time)


@dataclass(frozen=True)
class Selection:
    """Files that the run of a folder is read from. `note` says what of it is not, `troubles` what it lacks."""

    files: tuple[Path, ...]
    note: str | None
    troubles: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class _Content:
    """What the files of a folder are: those of known forms, what is wrong with others, and why the rest is not read."""

    formats: dict[Path, Format]
    troubles: dict[str, list[str]]
    unread: dict[str, list[str]]


def select(folder: Folder, prefer: str) -> Selection | LeftOut:
    """What to read of a folder that may hold text, a database or both; or why there is nothing to."""
    content = _content(folder.files)
    formats, troubles, unread = content.formats, content.troubles, content.unread
    for file, reason in list(_repeated(formats)):
        del formats[file]
        unread.setdefault(reason, []).append(file.name)
    about = [file for file, found in formats.items() if found is profiler_info]
    about += [file for file in sorted(folder.root.glob("profiler_*.json")) if _form_of(file) is profiler_info]
    chosen, note = _chosen(folder.root, formats, prefer)
    if not chosen:
        return LeftOut(folder.root, _nothing(content))
    if not any(formats[file] is ascend_database and ascend_database.is_profile(file) for file in chosen):
        told = [name for names in troubles.values() for name in names]
        missing = _missing(set(map(formats.get, chosen)), folder, about)
        if lacking := [name for name in missing if not any(fnmatch(file, f"{name}*") for file in told)]:
            troubles["missing_table"] = lacking
    for file in formats:
        if note is None and file not in chosen:
            has = "communication.json has" if formats[file] is ascend_database else "the database has"
            unread.setdefault(f"{has} what they show", []).append(file.name)
    said = [f"{', '.join(names)} ({reason})" for reason, names in unread.items()]
    notes = [note, f"{folder.root.name}: not read: {'; '.join(said)}" if said else None]
    files = [file for file in chosen if file not in about]
    # The trace first: rows of the tables are numbered behind its events.
    files.sort(key=lambda file: formats[file] is not kineto)
    return Selection(
        (*files, *dict.fromkeys(about)),
        "; ".join(filter(None, notes)) or None,
        tuple((kind, tuple(names)) for kind, names in troubles.items()),
    )


def _content(files: Iterable[Path]) -> _Content:
    content = _Content({}, {}, {})
    for file in files:
        found = _form_of(file)
        if found is not None:
            content.formats[file] = found
        elif file.name.lower().endswith(_KNOWN_SUFFIX):
            text = _beginning(file)
            if not file.stat().st_size or text == b"[]":
                content.troubles.setdefault("empty_file", []).append(file.name)
            elif text == b"{}":
                content.unread.setdefault("nothing is in it", []).append(file.name)
            elif _NAMES.match(file.name):
                content.troubles.setdefault("unreadable_file", []).append(file.name)
            else:
                content.unread.setdefault("nothing here shows what they hold", []).append(file.name)
    return content


def _form_of(file: Path) -> Format | None:
    """The format of a file; None also for one that is damaged, and for a database of something else."""
    try:
        found = format_of(file)
        if found is ascend_database and not (ascend_database.is_profile(file) or ascend_database.is_analysis(file)):
            return None
    except InputError:
        return None
    return found


def _beginning(file: Path) -> bytes:
    try:
        return next(ByteStream(file).blocks(), b"").strip()
    except InputError:
        return b""


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


def _chosen(root: Path, formats: dict[Path, Format], prefer: str) -> tuple[list[Path], str | None]:
    """Files of the form that is read, text or database; none where there is neither. And what is said of the other."""
    databases = [file for file, found in formats.items() if found is ascend_database]
    mains = [file for file in databases if ascend_database.is_profile(file)]
    texts = [file for file in formats if file not in databases]
    has_text = any(formats[file] in _RUNS for file in texts)
    if not mains and not has_text:
        return [], None
    use_database = bool(mains) and not (has_text and prefer == "text")
    # CANN writes its analysis of collectives as JSON, as a database or both, beside a profile in either form.
    analyses = [file for file in databases if file not in mains]
    analysed = [file for file in texts if formats[file] is communication]
    note = None
    if mains and has_text:
        used, other = ("database", "text") if use_database else ("text", "database")
        note = f"{root.name} holds text and database; the {used} was read (--prefer {other} reads the other)"
    if use_database:
        return [*mains, *(analyses or analysed)], note
    return [*texts, *(() if analysed else analyses)], note


def _nothing(content: _Content) -> str:
    held = [file.name for file, found in content.formats.items() if found is not profiler_info]
    held += [f"{name} (empty)" for name in content.troubles.get("empty_file", ())]
    held += [f"{name} (damaged)" for name in content.troubles.get("unreadable_file", ())]
    if not held:
        return "nothing in it is a trace, kernel details or a database"
    return f"it holds {', '.join(held)} alone, and no trace, kernel details or database of a run"


def _missing(there: set[Format | None], folder: Folder, about: Iterable[Path]) -> Iterator[str]:
    """Tables that a profile of text has by its settings, and this one has not."""
    settings: dict[str, Any] = {}
    for file in about:
        settings |= _settings(file)
    is_msprof = (
        any(file.name.lower().startswith(_OF_MSPROF) for file in folder.files)
        if folder.is_bare
        else not (folder.root / OUTPUT).is_dir()
    )
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
