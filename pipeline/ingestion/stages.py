"""Ingests sources (trace files or profile folders), each as one run, unless it is in the warehouse already."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.errors import InputError, UsageError
from pipeline.extract.report import storable
from pipeline.ingestion.options import Progress, ReadOptions
from pipeline.ingestion.workers import ahead, core_shares, executor, worker_count
from pipeline.schema import RAW_TABLES
from pipeline.version import VERSION
from pipeline.warehouse.partitions import partition_writer
from pipeline.warehouse.problem import Problem, problem_text
from pipeline.warehouse.warehouse import Warehouse
from pipeline.warehouse.writer import Writer

if TYPE_CHECKING:
    from pipeline.catalog.header import View
    from pipeline.extract.report import Report
    from pipeline.extract.source import Source

# Kinds of problem that only describe the data; nothing was mended or left out.
_HARMLESS = frozenset(
    {
        "collective_size",
        "empty_table",
        "flow_category",
        "missing_table",
        "not_understood",
        "overlap",
        "overlap_analysis",
    }
)
# Fields of a manifest that identify a run; two ranks may have files with the same content.
_IDENTITY = ("label", "content_hash", "rank")
# File systems allow 255 bytes for a name, which `run_id=` and a hash share.
_NAME_BYTES = 160


@dataclass(frozen=True)
class Ingested:
    """One run after ingest. `is_new` is False if the warehouse had the same content already; `note` is as in Source."""

    run_id: str
    label: str
    source: Path
    problems: tuple[str, ...]
    is_new: bool
    note: str | None = None


@dataclass
class _Job:
    """One source on its way: extracted into a folder, then claimed as `run_id`, then derived into another folder."""

    source: Source
    label: str
    known: dict[str, Any]
    cores: int
    folder: Path | None = None
    extraction: Future[Report] | None = None
    run_id: str = ""
    report: Report | None = None
    derivation: Future[list[Problem]] | None = None


class _Ingest:
    """The stages of jobs. Extraction and derivation run in an executor; runs are named and committed in order."""

    def __init__(
        self,
        house: Warehouse,
        several: bool,
        strict: bool,
        views: Sequence[View] | None,
        pool: Executor,
        progress: Progress | None,
        ends: contextlib.ExitStack,
    ) -> None:
        self._house = house
        self._ends = ends
        self._several = several
        self._strict = strict
        self._views = views
        self._pool = pool
        self._progress = progress
        self._uncommitted: dict[tuple[Any, ...], str] = {}
        self._has_views = False

    @cached_property
    def _writer(self) -> Writer:
        """Made for the first source that is not in the warehouse yet; without one, a read-only warehouse will do."""
        writer = self._ends.enter_context(self._house.writer())
        self._ends.callback(self._abandon, writer)
        writer.sweep()
        return writer

    def begin(self, wanted: tuple[Source, str], share: int) -> _Job:
        """Start the extraction, on a share of the cores, unless these very files were ingested before."""
        source, label = wanted
        stats = [file.stat() for file in source.files]
        known = {
            "label": label,
            "source_path": storable(str(source.path.resolve())),
            "source_bytes": sum(stat.st_size for stat in stats),
            "source_modified_ns": max(stat.st_mtime_ns for stat in stats),
            "flow_category": source.flow_category,
        }
        for run_id, manifest in self._house.manifests().items():
            if known.items() <= ({"flow_category": None} | manifest).items():
                return _Job(source, label, known, share, run_id=run_id)
        folder = self._writer.new_folder()
        extraction = self._pool.submit(_extract, self._house.folder, source, label, folder, self._progress, share)
        return _Job(source, label, known, share, folder, extraction)

    def place(self, job: _Job) -> _Job:
        """Wait for the extraction, then name the run and start deriving its results, unless its content is known."""
        if job.extraction is None or job.folder is None:
            return job
        if not job.extraction.done():
            self._make_views()
        report = job.extraction.result()
        identity = _identity(job.label, report)
        there = {tuple(run[key] for key in _IDENTITY): run_id for run_id, run in self._house.manifests().items()}
        if run_id := (self._uncommitted | there).get(identity):
            return replace(job, run_id=run_id)
        run_id = _claim(self._house, self._writer, job.label, report, self._several)
        self._uncommitted[identity] = run_id
        self._writer.place(run_id, job.folder)
        folder = self._writer.new_folder()
        derivation = self._pool.submit(_derive, self._house, run_id, folder, job.cores, self._views)
        return replace(job, folder=folder, run_id=run_id, report=report, derivation=derivation)

    def _make_views(self) -> None:
        """Bring the database up to date once, while workers read files: deriving results starts from its views."""
        if not self._has_views:
            self._house.refresh()
            self._has_views = True

    def finish(self, job: _Job) -> Ingested:
        """Wait for the results and make the run visible."""
        if job.derivation is None or job.report is None or job.folder is None:
            return _ingested(job, self._house.complete(job.run_id, self._views), self._strict)
        done = _ingested(job, job.derivation.result(), self._strict)
        report = job.report
        self._writer.put(job.folder)
        self._writer.commit(job.run_id, {**job.known, "content_hash": report.content_hash, "rank": report.rank})
        del self._uncommitted[_identity(job.label, report)]
        return done

    def _abandon(self, writer: Writer) -> None:
        """Remove claimed runs that were not committed."""
        for run_id in self._uncommitted.values():
            writer.abandon(run_id)


def ingest_sources(
    house: Warehouse,
    wanted: Sequence[tuple[Source, str]],
    several: bool,
    options: ReadOptions,
    views: Sequence[View] | None = None,
) -> list[Ingested]:
    """Ingest each (source, label) as one run. `several` adds the rank to run ids.

    If `views` are given, only the results that these read are computed. Raises InputError for the first file that is
    not a profiler file, or that is damaged if `strict` was given. Runs of the sources before it stay.
    """
    # `ends` is the outer context: it cleans up only after all workers have stopped writing.
    workers = options.workers or worker_count([source for source, _ in wanted])
    with contextlib.ExitStack() as ends, executor(workers, options.progress) as (pool, progress):
        stages = _Ingest(house, several, options.strict, views, pool, progress, ends)
        shares = core_shares([source for source, _ in wanted], workers)
        begun = ahead(map(stages.begin, wanted, shares), workers)
        placed = ahead(map(stages.place, begun), workers)
        return [stages.finish(job) for job in placed]


def _extract(
    warehouse: Path, source: Source, label: str, folder: Path, progress: Progress | None, share: int
) -> Report:
    """Stream one source into Parquet below `folder`, on a share of the cores."""
    # The readers are imported on use, since most commands read no source.
    from pipeline.extract.filename import rank_of  # noqa: PLC0415
    from pipeline.extract.report import Report  # noqa: PLC0415

    report = Report()
    with partition_writer(folder, warehouse) as writer:
        for table, batch in source.extract(report, progress, share):
            writer.write(table, batch)
        if report.rank is None:
            report.rank = rank_of(source.path)
        if report.problems:
            writer.write("problem", report.problem_batch())
        row = {
            "label": label,
            "source_path": storable(str(source.path.resolve())),
            "source_format": source.format,
            "source_bytes": report.source_bytes,
            "content_hash": report.content_hash,
            "rank": report.rank,
            "world_size": report.world_size,
            "device_name": report.device_name,
            "base_time_ns": report.base_time_ns,
            "event_count": report.event_count,
            "ingested_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "tool_version": VERSION,
        }
        writer.write("run", pa.RecordBatch.from_pylist([row], schema=RAW_TABLES["run"]))
    return report


def _derive(house: Warehouse, run_id: str, folder: Path, share: int, views: Sequence[View] | None) -> list[Problem]:
    return house.derive(run_id, folder, share, views)


def _identity(label: str, report: Report) -> tuple[Any, ...]:
    return label, report.content_hash, report.rank


def _claim(house: Warehouse, writer: Writer, label: str, report: Report, several: bool) -> str:
    """Claim an unused run id: the label, with the rank if the label has several, and a hash only if that is taken."""
    is_utf8 = sys.getfilesystemencoding() == "utf-8"
    name = re.sub(r"^\.|[^\w.\-]", "_", label, flags=0 if is_utf8 else re.ASCII) or "run"
    name = name.encode()[:_NAME_BYTES].decode("utf-8", "ignore")
    others = [manifest for manifest in house.manifests().values() if manifest["label"] == label]
    if report.rank is not None and (several or any(other["rank"] != report.rank for other in others)):
        name = f"{name}.r{report.rank}"
    for run_id in (name, f"{name}-{report.content_hash[:8]}", f"{name}-{report.content_hash}"):
        if writer.claim(run_id):
            return run_id
    raise UsageError(f"run {name} is being ingested by another process; wait for it, or give another --label")


def _ingested(job: _Job, problems: Sequence[Problem], strict: bool) -> Ingested:
    texts = tuple(problem_text(*problem) for problem in problems)
    if strict and any(kind not in _HARMLESS for kind, _, _ in problems):
        raise InputError(f"{job.source.path}: --strict was given, and there are problems: {'; '.join(texts)}")
    return Ingested(job.run_id, job.label, job.source.path, texts, job.derivation is not None, job.source.note)
