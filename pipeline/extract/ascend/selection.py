"""Which files of a profile's folder its run is read from, and what is said of the others."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import InputError
from pipeline.extract import recognition
from pipeline.extract.ascend import communication, database
from pipeline.extract.ascend.folder import OUTPUT, Folder
from pipeline.extract.ascend.tables import kernel_details, task_time
from pipeline.extract.bytestream import beginning
from pipeline.extract.format import Format, Role
from pipeline.extract.walk import LeftOut

_STAMP = re.compile(r"_(\d{14})(?=\.[a-z]+$)")
# What msprof itself writes, in a folder of any name.
_OF_MSPROF = ("msprof", "op_summary", "task_time")


@dataclass(frozen=True)
class Selection:
    """Files that the run of a folder is read from, and the name of its form.

    `note` says what of it is not read, `troubles` what it lacks.
    """

    files: tuple[Path, ...]
    format: str
    note: str | None
    troubles: tuple[tuple[str, tuple[str, ...]], ...]


class _Known(NamedTuple):
    """A file of a known format. What a profile is read from is either its databases or the text beside them."""

    format: Format
    role: Role

    @property
    def is_database(self) -> bool:
        return self.format is database.FORMAT

    @property
    def is_text_trace(self) -> bool:
        return self.role is Role.TRACE and not self.is_database


@dataclass(frozen=True)
class _Content:
    """The files of a folder: those of known formats, what is wrong with others, and why the rest is not read."""

    known: dict[Path, _Known]
    troubles: dict[str, list[str]]
    unread: dict[str, list[str]]


def select(folder: Folder, prefer: str) -> Selection | LeftOut:
    """What to read of a folder that may hold text, a database or both; or why there is nothing to."""
    content = _content(folder.files)
    known, troubles, unread = content.known, content.troubles, content.unread
    for file, reason in list(_repeated(known)):
        del known[file]
        unread.setdefault(reason, []).append(file.name)
    about = [file for file, found in known.items() if found.role is Role.SETTINGS]
    beside = ((file, _known(file)) for file in sorted(folder.root.glob("profiler_*.json")))
    about += [file for file, found in beside if found and found.role is Role.SETTINGS]
    chosen, note = _chosen(folder.root, known, prefer)
    if not chosen:
        return LeftOut(folder.root, _nothing(content))
    is_database = any(known[file].is_database and known[file].role is Role.TRACE for file in chosen)
    if not is_database:
        reported = [name for names in troubles.values() for name in names]
        missing = _missing([known[file] for file in chosen], folder, about)
        if lacking := [name for name in missing if not any(fnmatch(file, f"{name}*") for file in reported)]:
            troubles["missing_table"] = lacking
    for file, found in known.items():
        if note is None and file not in chosen:
            has = "communication.json has" if found.is_database else "the database has"
            unread.setdefault(f"{has} what they show", []).append(file.name)
    said = [f"{', '.join(names)} ({reason})" for reason, names in unread.items()]
    notes = [note, f"{folder.root.name}: not read: {'; '.join(said)}" if said else None]
    files = [file for file in chosen if file not in about]
    # The trace first: rows of the tables are numbered after its events.
    files.sort(key=lambda file: known[file].role is not Role.TRACE)
    return Selection(
        (*files, *dict.fromkeys(about)),
        f"{_family(folder.root)}_{'database' if is_database else 'text'}",
        "; ".join(filter(None, notes)) or None,
        tuple((kind, tuple(names)) for kind, names in troubles.items()),
    )


def _family(root: Path) -> str:
    name = root.name.lower()
    return "mindspore" if name.endswith("_ascend_ms") else "msprof" if name.startswith("prof_") else "ascend"


def _content(files: Iterable[Path]) -> _Content:
    content = _Content({}, {}, {})
    # Other files of a profile are passed over: logs, raw data.
    for file in files:
        found = _known(file)
        if found is not None:
            content.known[file] = found
        elif any(known.may_be(file.name) for known in recognition.FORMATS):
            text = _beginning(file)
            if not file.stat().st_size or text == b"[]":
                content.troubles.setdefault("empty_file", []).append(file.name)
            elif text == b"{}":
                content.unread.setdefault("nothing is in it", []).append(file.name)
            elif any(known.has_profile_name(file.name) for known in recognition.FORMATS):
                content.troubles.setdefault("unreadable_file", []).append(file.name)
            else:
                content.unread.setdefault("nothing here shows what they hold", []).append(file.name)
    return content


def _known(file: Path) -> _Known | None:
    """What a file is; None also for one that is damaged, and for a database of something else."""
    try:
        found = recognition.format_of(file)
        role = found.role_of(file) if found else None
    except InputError:
        return None
    return _Known(found, role) if found and role else None


def _beginning(file: Path) -> bytes:
    try:
        return beginning(file).strip()
    except InputError:
        return b""


def _repeated(known: dict[Path, _Known]) -> Iterator[tuple[Path, str]]:
    """Files that say again what others say, and what of them is read instead."""
    newest: dict[tuple[Path, str], str] = {}
    for file in known:
        if stamp := _STAMP.search(file.name):
            key = (file.parent, _STAMP.sub("", file.name))
            newest[key] = max(stamp[1], newest.get(key, ""))
    traces = [file for file, found in known.items() if found.is_text_trace]
    mains = [file for file in traces if file.name.startswith("msprof")]
    has_kernels = bool(traces) or any(found.format is kernel_details for found in known.values())
    for file, found in known.items():
        stamp = _STAMP.search(file.name)
        if stamp and stamp[1] < newest[file.parent, _STAMP.sub("", file.name)]:
            yield file, "a later export is read"
        elif found.is_text_trace and mains and file not in mains:
            yield file, "msprof_*.json has what they show"
        elif found.format is task_time and has_kernels:
            yield file, "the trace and op_summary have the tasks"


def _chosen(root: Path, known: dict[Path, _Known], prefer: str) -> tuple[list[Path], str | None]:
    """Files of the form that is read, text or database; none where there is neither. And what is said of the other."""
    databases = [file for file, found in known.items() if found.is_database]
    mains = [file for file in databases if known[file].role is Role.TRACE]
    texts = [file for file in known if file not in databases]
    has_text = any(known[file].role in (Role.TRACE, Role.TASKS) for file in texts)
    if not mains and not has_text:
        return [], None
    use_database = bool(mains) and not (has_text and prefer == "text")
    # CANN writes its analysis of collectives as JSON, as a database or both, beside a profile in either form.
    analyses = [file for file in databases if file not in mains]
    analysed = [file for file in texts if known[file].format is communication.FORMAT]
    note = None
    if mains and has_text:
        used, other = ("database", "text") if use_database else ("text", "database")
        note = f"{root.name} holds text and database; the {used} was read (--prefer {other} reads the other)"
    if use_database:
        return [*mains, *(analyses or analysed)], note
    return [*texts, *(() if analysed else analyses)], note


def _nothing(content: _Content) -> str:
    held = [file.name for file, found in content.known.items() if found.role is not Role.SETTINGS]
    held += [f"{name} (empty)" for name in content.troubles.get("empty_file", ())]
    held += [f"{name} (damaged)" for name in content.troubles.get("unreadable_file", ())]
    if not held:
        return "nothing in it is a trace, kernel details or a database"
    return f"it holds {', '.join(held)} alone, and no trace, kernel details or database of a run"


def _missing(there: Collection[_Known], folder: Folder, about: Iterable[Path]) -> Iterator[str]:
    """Files that a profile of text has by its settings, and this one has not."""
    settings: dict[str, Any] = {}
    for file in about:
        settings |= _settings(file)
    is_msprof = (
        any(file.name.lower().startswith(_OF_MSPROF) for file in folder.files)
        if folder.is_bare
        else not (folder.root / OUTPUT).is_dir()
    )
    roles = {found.role for found in there}
    if Role.TRACE not in roles:
        yield "msprof_*.json" if is_msprof else "trace_view.json"
    if Role.TASKS not in roles:
        yield "op_summary_*.csv" if is_msprof else "kernel_details.csv"
    formats = {found.format for found in there}
    for known in recognition.FORMATS:
        if known.is_promised(settings) and known not in formats:
            yield f"{known.name}{known.suffix}"


def _settings(file: Path) -> dict[str, Any]:
    """Settings of the recording, without their nesting; none if the file is damaged, which its reader reports."""
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
