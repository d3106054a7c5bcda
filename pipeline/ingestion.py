"""One source (a trace file or a profile folder) into the warehouse, or found to be there already."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError, UsageError
from pipeline.extract.report import Report
from pipeline.extract.source import Source, rank_of
from pipeline.load.partitions import PartitionWriter, remove
from pipeline.load.warehouse import Warehouse
from pipeline.schema import PROBLEM_KINDS, RAW_TABLES
from pipeline.version import VERSION

# Kinds that tell how the data looks, not that some of it was changed or set aside.
_HARMLESS = frozenset({"overlap", "overlap_analysis"})
_DETAIL_CHARACTERS = 100
Progress = Callable[[Path, int], None]


@dataclass(frozen=True)
class Ingested:
    """One run after ingest. `is_new` is False where the same content was there already; `note` as in Source."""

    run_id: str
    label: str
    source: Path
    problems: tuple[str, ...]
    is_new: bool
    note: str | None = None


def ingest_source(
    house: Warehouse, source: Source, label: str, several: bool, strict: bool, progress: Progress | None
) -> Ingested:
    """Ingest one source as a run. `several` says that the label has other files, so that ids tell the ranks apart.

    Raises InputError where a file is none of a profiler, or is damaged and `strict` was asked for.
    """
    stats = [file.stat() for file in source.files]
    known = {
        "label": label,
        "source_path": str(source.path.resolve()),
        "source_bytes": sum(stat.st_size for stat in stats),
        "source_modified_ns": max(stat.st_mtime_ns for stat in stats),
    }
    for run_id, manifest in house.manifests().items():
        if known.items() <= manifest.items():
            return _ingested(house, run_id, label, source, is_new=False, strict=strict)
    folder = house.new_folder()
    try:
        report = _extract(source, label, folder, progress)
        for run_id, manifest in house.manifests().items():
            if (manifest["label"], manifest["content_hash"]) == (label, report.content_hash):
                return _ingested(house, run_id, label, source, is_new=False, strict=strict)
        run_id = _claim(house, label, report, several)
        try:
            house.place(run_id, folder)
            house.derive(run_id)
            done = _ingested(house, run_id, label, source, is_new=True, strict=strict)
            house.commit(run_id, {**known, "content_hash": report.content_hash, "rank": report.rank})
        except BaseException:
            house.abandon(run_id)
            raise
        return done
    finally:
        remove([folder])


def _extract(source: Source, label: str, folder: Path, progress: Progress | None) -> Report:
    """Stream one source into Parquet below `folder`."""
    report = Report()
    writer = PartitionWriter(folder)
    for table, batch in source.extract(report, progress):
        writer.write(table, batch)
    if report.rank is None:
        report.rank = rank_of(source.path)
    if report.problems:
        writer.write("problem", report.problem_batch())
    row = {
        "label": label,
        "source_path": str(source.path.resolve()),
        "source_format": source.format,
        "source_bytes": report.source_bytes,
        "content_hash": report.content_hash,
        "rank": report.rank,
        "world_size": report.world_size,
        "device_name": report.device_name,
        "base_time_ns": report.base_time_ns,
        "event_count": report.event_count,
        "ingested_at": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "tool_version": VERSION,
    }
    writer.write("run", pa.RecordBatch.from_pylist([row], schema=RAW_TABLES["run"]))
    writer.close()
    return report


def _claim(house: Warehouse, label: str, report: Report, several: bool) -> str:
    """A run id that nobody has: the label, the rank where a label has several, a hash only where inputs would meet."""
    name = re.sub(r"^\.|[^\w.\-]", "_", label) or "run"
    others = [manifest for manifest in house.manifests().values() if manifest["label"] == label]
    if report.rank is not None and (several or any(other["rank"] != report.rank for other in others)):
        name = f"{name}.r{report.rank}"
    for run_id in (name, f"{name}-{report.content_hash[:8]}", f"{name}-{report.content_hash}"):
        if house.claim(run_id):
            return run_id
    raise UsageError(f"run {name} is being ingested by another process; wait for it, or give another --label")


def _ingested(house: Warehouse, run_id: str, label: str, source: Source, *, is_new: bool, strict: bool) -> Ingested:
    problems = house.problems(run_id)
    texts = tuple(problem_text(*problem) for problem in problems)
    if strict and any(kind not in _HARMLESS for kind, _, _ in problems):
        raise InputError(f"{source.path}: not intact, and --strict was given: {'; '.join(texts)}")
    return Ingested(run_id, label, source.path, texts, is_new, source.note)


def problem_text(kind: str, count: int, detail: str) -> str:
    """A trouble for a person: how often, what, and where first. Names in traces are long; `marts.problem` has all."""
    first = detail if len(detail) <= _DETAIL_CHARACTERS else detail[: _DETAIL_CHARACTERS - 1] + "…"
    return f"{count} × {PROBLEM_KINDS.get(kind, kind)}" + (f" (first: {first})" if first else "")
