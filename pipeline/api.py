"""What the package does: ingest traces, compare runs, query the warehouse. The command line only calls this."""

from __future__ import annotations

import datetime as dt
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.catalog.header import View
from pipeline.comparison.matching import Matching
from pipeline.comparison.result import AVERAGE_STEP, Comparison, ResultTable, Side
from pipeline.comparison.tables import begin_tables, fetch, finish_tables
from pipeline.encoding import storable
from pipeline.errors import InputError, LeftOutWarning, OutputError, TracemillError, UsageError, write_failure
from pipeline.extract import FORMS
from pipeline.ingestion.stages import Ingested, ingest_sources, problem_text
from pipeline.ingestion.workers import Progress, worker_count
from pipeline.warehouse.querypool import query_pool
from pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pipeline.extract.source import Source

DEFAULT_WAREHOUSE = "tracemill-warehouse"
# Levels of Ascend profilers that leave out what several views are made of.
_SHALLOW = ("Level_none", "Level0")
# What is said of a run without device activities, by what is known of its devices instead.
_WITHOUT_ACTIVITIES = {
    None: "no device activity in this trace{known}, so device time, its split and kernels are empty",
    "overlap analysis": "of devices the trace has the profiler's Overlap Analysis alone: device time and its split are"
    " those of the analysis, kernels are empty",
    "tables": "of devices there are tables alone, of sums, transfers or memory: device time, its split and kernels are"
    " empty",
}
PathLike = str | os.PathLike[str]
Writer = Callable[[Comparison, Path], Iterator[Path]]


def warehouse_folder(folder: PathLike | None = None) -> Path:
    """The warehouse to use: the one given, else TRACEMILL_WAREHOUSE, else ./tracemill-warehouse."""
    return Path(folder or os.environ.get("TRACEMILL_WAREHOUSE") or DEFAULT_WAREHOUSE)


def ingest(
    sources: PathLike | Iterable[PathLike],
    *,
    label: str | None = None,
    warehouse: PathLike | None = None,
    strict: bool = False,
    prefer: str = FORMS[0],
    gpu_flow_cat: str | None = None,
    memory: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Ingested]:
    """Ingest traces and profile folders (or folders with all of these in them), each as one run.

    `label` names the execution, one for all sources, with the stage of serving behind it where their names tell several
    (`…-TP-0-EXTEND`, `…-TP-0-DECODE`); without it each run is named after its file or folder. `strict`
    makes a trace that had to be mended an error. `prefer` (`database` or `text`) chooses where an Ascend profile has
    both. `gpu_flow_cat` names the only category of flows that may tell launches where correlation ids do not; without
    it any category may. `memory` limits DuckDB (`2GB`). `workers` sources are read at once, in processes of their own
    if more than one (which the caller's main module must allow), all that the machine bears with 0. `progress` receives
    (file, bytes read). What in a folder looks like a profile and is not read gives a LeftOutWarning; with `strict` it
    is an error. Raises InputError for the first source that cannot be read; runs ingested before it stay.
    """
    from pipeline.extract.filename import labels_of  # noqa: PLC0415

    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    found = [
        replace(source, flow_category=gpu_flow_cat)
        for path in paths
        for source in _sources(Path(path), _form(prefer), strict)
    ]
    house = Warehouse(warehouse_folder(warehouse), memory)
    several = label is not None and len(found) > 1
    labels = labels_of([source.path for source in found], [source.name for source in found], label)
    wanted = [(source, storable(name)) for source, name in zip(found, labels, strict=True)]
    done = ingest_sources(house, wanted, several, strict, progress, workers or worker_count(found))
    house.refresh()
    return done


def compare(
    base: PathLike,
    comparison: PathLike,
    *,
    output: PathLike | None = None,
    warehouse: PathLike | None = None,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    base_step: int | None = None,
    comparison_step: int | None = None,
    average_step: bool = False,
    own_views: PathLike | None = None,
    details: bool = True,
    modules: bool = True,
    matching: Matching | None = None,
    xlsx: bool = True,
    html: bool = True,
    strict: bool = False,
    prefer: str = FORMS[0],
    gpu_flow_cat: str | None = None,
    memory: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two runs, each a trace or profile folder (ingested first), a run id or a label in the warehouse.

    Returns the result tables as Arrow; with `output` it also writes a workbook and an HTML page into that folder.
    `average_step` compares average complete steps instead of whole runs. `own_views` is a folder of views beside those
    of the warehouse: a file that is refused gives a LeftOutWarning. `only` and `skip` choose views by name; without
    `modules` operators are shown also where both runs have modules, and `matching` says what operators are paired by.
    `prefer`, `gpu_flow_cat` and `workers` as in `ingest`. `memory` limits DuckDB (`2GB`; half of the machine without
    it). Raises UsageError for an unknown run, step or view.
    """
    house = _warehouse(warehouse, memory, own_views)
    if average_step and (base_step, comparison_step) != (None, None):
        raise UsageError("--average-step compares the average steps of both runs; name no step beside it")
    steps = (AVERAGE_STEP, AVERAGE_STEP) if average_step else (base_step, comparison_step)
    views = _chosen(house.catalog, only, skip, details and not average_step)
    sources = {
        side: replace(source, flow_category=gpu_flow_cat)
        for side in (base, comparison)
        if (source := _source(house, side, _form(prefer), strict)) is not None
    }
    if gpu_flow_cat is not None and not sources:
        raise UsageError(
            "--gpu-flow-cat says how a trace is read, and both runs are in the warehouse already; ingest with it"
        )
    wanted = [(source, storable(source.name)) for source in sources.values()]
    done = ingest_sources(house, wanted, False, strict, progress, workers or worker_count(list(sources.values())))
    ingested = dict(zip(sources, (run.run_id for run in done), strict=True))
    run_ids = [ingested.get(side) or _known_run(house, os.fspath(side)) for side in (base, comparison)]
    with house.connect(sorted(set(run_ids))) as connection:
        _tell_refused(house)
        views = [view for view in views if str(view.file) not in house.refused]
        views = _alternative(connection, views, run_ids, modules and not average_step)
        sides = [_side(connection, house, run, step) for run, step in zip(run_ids, steps, strict=True)]
        with query_pool(connection, house.at_once(run_ids)) as submit:
            begun = begin_tables(submit, views, sides, matching or Matching())
            writers = {} if output is None else _writers(xlsx, html)  # queries leave the time for it
            found = finish_tables(views, begun)
    options = {"only": ", ".join(only), "skip": ", ".join(skip)} | _told(matching)
    result = Comparison(
        sides[0],
        sides[1],
        found,
        CATALOG_VERSION,
        house.catalog.fingerprint,
        options,
        tuple(dict.fromkeys((*(run.note for run in done if run.note), *_notes(sides)))),
    )
    if output is None:
        return result
    return replace(result, files=tuple(_write(result, Path(output), writers)))


def _told(matching: Matching | None) -> dict[str, str]:
    """What differs from plain matching by name, for About."""
    given = vars(matching) if matching else {}
    return {name: str(value) for name, value in given.items() if value}


def _writers(xlsx: bool, html: bool) -> dict[str, Writer]:
    """What writes each file, by its ending, with all made ready that does not depend on rows.

    Imported where they are used: their libraries take a fifth of the start of every command and worker process.
    """
    writers: dict[str, Writer] = {}
    if xlsx:
        from pipeline.render.xlsx import write_xlsx  # noqa: PLC0415

        writers[".xlsx"] = write_xlsx
    if html:
        from pipeline.render.html import prepare, write_html  # noqa: PLC0415

        prepare()
        writers[".html"] = write_html
    return writers


def _write(result: Comparison, folder: Path, writers: Mapping[str, Writer]) -> list[Path]:
    """Write the files under temporary names first: they get their own when all of them are whole."""
    stem = f"performance_comparison_result_{dt.datetime.now(dt.timezone.utc):%Y%m%d%H%M%S%f}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tracemill-", dir=folder) as unfinished:
            made = [
                path for ending, write in writers.items() for path in write(result, Path(unfinished, f"{stem}{ending}"))
            ]
            return [path.replace(folder / path.name) for path in made]
    except OSError as error:
        raise OutputError(write_failure(folder, error, "choose another with -o")) from error


def _chosen(catalog: Catalog, only: Sequence[str], skip: Sequence[str], details: bool) -> list[View]:
    """Comparison views to show, in their order; names may leave out the ending `_comparison`."""
    by_name = {view.name: view for view in catalog.comparisons}

    def named(name: str) -> View:
        view = by_name.get(name) or by_name.get(f"{name}_comparison")
        if view is None:
            raise UsageError(f"no comparison {name!r}; there are: {', '.join(sorted(by_name))}")
        return view

    wanted = [named(name) for name in only] or list(by_name.values())
    left_out = [named(name) for name in skip]
    return [
        view for view in by_name.values() if view in wanted and view not in left_out and (details or not view.detail)
    ]


def _alternative(
    connection: duckdb.DuckDBPyConnection, views: list[View], run_ids: Sequence[str], modules: bool
) -> list[View]:
    """The views without those of operators where both runs have modules with device time, or the other way round.

    A kind of which no view was chosen leaves the other as it is.
    """
    # The optimizer and what is outside are no modules; without device time they have nothing to compare.
    modules_of = "starts_with(forward_name, '/') and device_total_duration_ns is not null"
    query = f"select count(distinct run_id) from marts.module where run_id in ($base, $comparison) and {modules_of}"
    ((found,),) = connection.execute(query, {"base": run_ids[0], "comparison": run_ids[1]}).fetchall()
    shown = "modules" if modules and found == len(set(run_ids)) else "operators"
    if not any(view.alternative == shown for view in views):
        return views
    return [view for view in views if view.alternative in (None, shown)]


def _form(prefer: str) -> str:
    if prefer not in FORMS:
        raise UsageError(f"prefer {prefer!r}: give one of {', '.join(FORMS)}")
    return prefer


def _sources(path: Path, prefer: str, strict: bool) -> Sequence[Source]:
    """Runs of a path; what looks like another and is not read is an error with `strict`, else a warning each."""
    # Imported where they are used: the readers of all formats take a tenth of the start of every other command.
    from pipeline.extract.source import find_sources  # noqa: PLC0415

    found = find_sources(path, prefer)
    if strict and found.left_out:
        raise InputError(f"--strict was given, and {'; '.join(map(str, found.left_out))}")
    for left_out in found.left_out:
        warnings.warn(str(left_out), LeftOutWarning, stacklevel=3)
    return found.sources


def _source(house: Warehouse, given: PathLike, prefer: str, strict: bool) -> Source | None:
    """What to ingest for what a user named; None for a run id or a label in the warehouse."""
    path = Path(given)
    if not path.exists() or os.fspath(given) in _names(house):
        return None
    found = _sources(path, prefer, strict)
    if len(found) > 1:
        raise UsageError(
            f"{path}: {len(found)} traces; ingest the folder and compare two of its runs, or name one of them"
        )
    return found[0]


def _names(house: Warehouse) -> set[str]:
    manifests = house.manifests()
    return set(manifests) | {manifest["label"] for manifest in manifests.values()}


def _known_run(house: Warehouse, name: str) -> str:
    """Run id of a run id or of a label with one run. Raises UsageError where there is none or more than one."""
    manifests, name = house.manifests(), storable(name)
    if name in manifests:
        return name
    labelled = [run_id for run_id, manifest in manifests.items() if manifest["label"] == name]
    if len(labelled) > 1:
        raise UsageError(f"label {name!r} names {len(labelled)} runs; give one of: {', '.join(labelled)}")
    if not labelled:
        known = ", ".join(manifests) or "none yet"
        raise UsageError(f"{name!r} is no file or folder, and no run of {house.folder}; runs there: {known}")
    return labelled[0]


def _side(connection: duckdb.DuckDBPyConnection, house: Warehouse, run_id: str, step: int | None) -> Side:
    (run,) = fetch(connection, "select * from marts.run where run_id = $run", {"run": run_id}).to_pylist()
    if step == AVERAGE_STEP and not _averages(run):
        raise UsageError(f"run {run_id} has no complete step to average over; compare whole runs")
    if step is not None and step != AVERAGE_STEP:
        existing = [
            row[0]
            for row in connection.execute(
                "select step from marts.step where run_id = $run order by step", {"run": run_id}
            ).fetchall()
        ]
        if step not in existing:
            steps = f"it has steps {', '.join(map(str, existing))}" if existing else "it has no steps"
            raise UsageError(f"run {run_id} has no step {step}; {steps}")
    problems = tuple(problem_text(*problem) for problem in house.problems(run_id, connection))
    return Side(run, step, problems)


def _notes(sides: Sequence[Side]) -> Iterator[str]:
    """What a reader must know before the figures."""
    for side in sides:
        run = side.run
        if run["device_source"] in _WITHOUT_ACTIVITIES:
            known = " that is understood" if run["not_understood_count"] else ""
            yield f"{run['run_id']}: {_WITHOUT_ACTIVITIES[run['device_source']].format(known=known)}"
        if run["profiler_level"] in _SHALLOW:
            missing = "types, shapes and units of kernels, tasks of collectives and calls of CANN"
            yield f"{run['run_id']}: recorded at {run['profiler_level']}; for {missing} record at Level1 or above"
        for problem in side.problems:
            yield f"{run['run_id']}: {problem}"
    counts = [side.run["step_count"] for side in sides]
    if counts[0] != counts[1] and sides[0].step is None and sides[1].step is None:
        told = f"the runs recorded {counts[0]} and {counts[1]} steps: sums over whole runs do not compare"
        without = [side.run["run_id"] for side in sides if not _averages(side.run)]
        yield (
            f"{told}, and {' and '.join(without)} recorded no whole step"
            if without
            else f"{told}, averages over steps do"
        )


def _averages(run: Mapping[str, Any]) -> bool:
    """Does a run have steps to average over? Those of a run without device activities cannot lack any."""
    complete = run["complete_step_count"]
    return bool(run["step_count"] if complete is None else complete)


def query(
    sql: str, *, warehouse: PathLike | None = None, memory: str | None = None, own_views: PathLike | None = None
) -> pa.Table:
    """Run one SELECT over the warehouse, read-only, and return its rows. `own_views` as in `compare`.

    Raises UsageError for anything but one SELECT, and for an error in the query.
    """
    house = _warehouse(warehouse, memory, own_views)
    sql = storable(sql)
    with house.connect() as connection:
        _tell_refused(house)
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type not in (
                duckdb.StatementType.SELECT,
                duckdb.StatementType.EXPLAIN,
            ):
                raise UsageError("give exactly one SELECT: the warehouse is read-only")
            if statements[0].type == duckdb.StatementType.EXPLAIN and not _explains_select(connection, sql):
                raise UsageError("only a SELECT can be explained")
            return connection.sql(sql).to_arrow_table()
        except (duckdb.IOException, duckdb.OutOfMemoryException):  # no fault of the query
            raise
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from error


def _explains_select(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    inner = re.sub(r"(?is)^\s*explain\s+(analyze\s+)?", "", sql)
    return [statement.type for statement in connection.extract_statements(inner)] == [duckdb.StatementType.SELECT]


def table(view: str, *, run: str | None = None, warehouse: PathLike | None = None) -> ResultTable:
    """All rows of a public view, or those of one run (run id or label), in the view's order."""
    house = Warehouse(warehouse_folder(warehouse))
    found = house.catalog.mart(view)
    parameters = {"run": _known_run(house, run)} if run else {}
    where = "where run_id = $run" if run else ""
    with house.connect() as connection:
        return ResultTable(
            found, fetch(connection, f"select * from {found.qualified} {where} order by {found.order}", parameters)
        )


def views(*, warehouse: PathLike | None = None, own_views: PathLike | None = None) -> Catalog:
    """The catalog of views that this version answers, with a user's own ones of a warehouse and of a folder."""
    found = _warehouse(warehouse, None, own_views)
    _tell_refused(found)
    return found.catalog


def _warehouse(folder: PathLike | None, memory: str | None, own_views: PathLike | None) -> Warehouse:
    own = None if own_views is None else Path(own_views)
    if own is not None and not own.is_dir():
        raise UsageError(f"{own}: no folder of views")
    return Warehouse(warehouse_folder(folder), memory, own)


def _tell_refused(house: Warehouse) -> None:
    for path, reason in house.refused.items():
        warnings.warn(f"{path}: this view is left out: {reason}", LeftOutWarning, stacklevel=3)


__all__ = [
    "Comparison",
    "Ingested",
    "Matching",
    "Progress",
    "ResultTable",
    "TracemillError",
    "compare",
    "ingest",
    "query",
    "table",
    "views",
]
