"""Folders that Ascend profilers and msprof write: where they are, and which files belong to each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.extract.ascend import database, tables
from pipeline.extract.format import Format, Role
from pipeline.extract.recognition import format_of
from pipeline.extract.walk import LeftOut

OUTPUT = "ASCEND_PROFILER_OUTPUT"
MSPROF_OUTPUT = "mindstudio_profiler_output"
PROFILE = re.compile(r"_ascend_(pt|ms)$", re.IGNORECASE)
_RAW = re.compile(r"PROF_(?!GROUP_)", re.IGNORECASE)
_SIDE = re.compile(r"device_\d+|host")
_TABLE = re.compile(r"\.csv(?:\.[a-z0-9]+)?$", re.IGNORECASE)
# Names of the traces that belong to the tables beside them; of another name, a trace is one of its own.
_TRACE_OF_TABLES = re.compile(r"trace_view|msprof", re.IGNORECASE)


@dataclass(frozen=True)
class Folder:
    """A profile: the folder that names it, and the files that its run may be read from.

    One that is bare lacks the names that profilers give to folders: what else is in it does not belong to it.
    """

    root: Path
    files: tuple[Path, ...]
    is_bare: bool = False

    @property
    def owned(self) -> frozenset[Path]:
        """Files and folders that belong to it."""
        return frozenset(self.files if self.is_bare else (self.root, *(file.parent for file in self.files)))


def folders(path: Path, entries: Iterable[Path]) -> list[Folder | LeftOut]:
    """Profile folders at, around or below a path; `entries` is all that is below it.

    What msprof exported below the folder of a framework belongs to that one, which repeats it.
    """
    directories = [path, *(entry for entry in entries if entry.is_dir())]
    frameworks = [folder.parent for folder in directories if folder.name == OUTPUT]
    exported = {root for folder in directories if (root := _msprof_root(folder))}
    found: list[Folder | LeftOut] = [Folder(root, _files(root / OUTPUT)) for root in frameworks]
    named = {*frameworks, *exported}
    for folder in directories:
        if not named & {folder, *folder.parents} and (files := _of_tables(folder)):
            found.append(Folder(folder, files, is_bare=True))
        elif _RAW.match(folder.name) and folder not in exported and any(folder.glob("device_*")):
            reason = "raw data that is not exported; run msprof --export=on --output=FOLDER"
            found.append(LeftOut(folder, reason))
        elif PROFILE.search(folder.name) and folder not in frameworks:
            reason = f"it has no {OUTPUT}; let the framework's profiler analyse it"
            found.append(LeftOut(folder, reason))
    return [*found, *(Folder(root, _msprof_files(root)) for root in sorted(exported))]


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted((file for file in folder.glob("*") if file.is_file()), key=_in_order))


def _in_order(file: Path) -> list[tuple[int, str]]:
    """Key that sorts slices by number, so that the tenth comes after the second."""
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


def _of_tables(folder: Path) -> tuple[Path, ...]:
    """Tables of a profiler in a folder of any name, and what beside them is of the same run; nothing without tables."""
    files = _files(folder)
    formats = {file: _format_of(file) for file in files if _TABLE.search(file.name)}
    held = {found for found in formats.values() if found in tables.TABLES}
    if not held:
        return ()
    formats |= {file: _format_of(file) for file in files if file not in formats}
    databases = {file for file, found in formats.items() if found is database.FORMAT}
    traces = {file for file, found in formats.items() if found and found.role is Role.TRACE} - databases
    own = {file for file in traces if _TRACE_OF_TABLES.match(file.name)}
    if not own and held == {tables.operator_details}:  # names and shapes alone, which any table may have
        return ()
    others = (traces - own) | (databases if len(databases) > 1 else set())
    return tuple(file for file in files if file not in others)


def _format_of(file: Path) -> Format | None:
    try:
        return format_of(file)
    except InputError:  # reported where it is read
        return None
