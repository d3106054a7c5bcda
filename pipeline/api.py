"""The public API: ingest traces, compare runs, query the warehouse. The command line calls nothing else."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.comparison.choice import Choice
from pipeline.comparison.matching import Matching
from pipeline.comparison.result import Comparison, ResultTable, Side
from pipeline.comparison.sides import notes, side
from pipeline.comparison.tables import begin_tables, fetch, finish_tables
from pipeline.errors import InputError, LeftOutWarning, TracemillError, UsageError
from pipeline.extract.report import storable
from pipeline.ingestion.options import Progress, ReadOptions
from pipeline.ingestion.stages import Ingested, ingest_sources
from pipeline.render.files import FILES, write_files, writers
from pipeline.warehouse.querypool import query_pool
from pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pipeline.catalog.header import View
    from pipeline.extract.source import Source

DEFAULT_WAREHOUSE = "tracemill-warehouse"
PathLike = str | os.PathLike[str]


def warehouse_folder(folder: PathLike | None = None) -> Path:
    """The warehouse to use: the one given, else TRACEMILL_WAREHOUSE, else ./tracemill-warehouse."""
    return Path(folder or os.environ.get("TRACEMILL_WAREHOUSE") or DEFAULT_WAREHOUSE)


def ingest(
    sources: PathLike | Iterable[PathLike],
    *,
    label: str | None = None,
    warehouse: PathLike | None = None,
    options: ReadOptions | None = None,
) -> list[Ingested]:
    """Ingest traces and profile folders (or folders that contain them), each as one run.

    Results are computed as well, unless `options.lazy`. `label` names the execution and is the same for all sources.
    If their names show several serving stages (`…-TP-0-EXTEND`, `…-TP-0-DECODE`), the stage is appended to the label.
    Without `label` each run is named after its file or folder. Anything in a folder that looks like a profile but is
    not read causes a LeftOutWarning, or an error with `strict`. Raises InputError for the first source that cannot be
    read; runs ingested before it stay.
    """
    from pipeline.extract.filename import labels_of  # noqa: PLC0415

    options = options or ReadOptions()
    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    found = [source for path in paths for source in _sources(Path(path), options)]
    house = Warehouse(warehouse_folder(warehouse), options.memory)
    several = label is not None and len(found) > 1
    labels = labels_of([source.path for source in found], [source.name for source in found], label)
    wanted = [(source, storable(name)) for source, name in zip(found, labels, strict=True)]
    # `strict` asks for all problems, and some of them only results show.
    needed = [house.catalog.mart("problem")] if options.strict else []
    done = ingest_sources(house, wanted, several, options, needed if options.lazy else None)
    house.refresh()
    return done


def compare(
    base: PathLike,
    comparison: PathLike,
    *,
    output: PathLike | None = None,
    warehouse: PathLike | None = None,
    choice: Choice | None = None,
    matching: Matching | None = None,
    options: ReadOptions | None = None,
    files: Sequence[str] = FILES,
) -> Comparison:
    """Compare two runs, each a trace or profile folder (ingested first), a run id or a label in the warehouse.

    Returns the result tables as Arrow. With `output` it also writes `files`, a workbook and an HTML page, into that
    folder. `choice` selects the scopes and the tables, `matching` says how operators are paired, `options` how files
    are read. Each file of your own views that is refused causes a LeftOutWarning. Raises UsageError for an unknown run,
    step or view.
    """
    choice, options = choice or Choice(), options or ReadOptions()
    house = _warehouse(warehouse, options.memory, choice.own_views)
    views = choice.views(house.catalog)
    read = [*views, *choice.also_read(house.catalog, views)]
    run_ids, read_notes = _runs_of(house, (base, comparison), options, read)
    with house.open_up_to_date(sorted(set(run_ids)), read) as connection:
        _tell_refused(house)
        views = [view for view in views if str(view.file) not in house.refused]
        views = choice.without_alternative(connection, views, run_ids)
        sides = [
            side(connection, run_id, step, house.problems(run_id, connection))
            for run_id, step in zip(run_ids, choice.steps, strict=True)
        ]
        with query_pool(connection, house.at_once(run_ids)) as submit:
            begun = begin_tables(submit, views, sides, matching or Matching())
            to_write = {} if output is None else writers(files)  # made ready while the queries run
            found = finish_tables(views, begun)
    result = Comparison(
        sides[0],
        sides[1],
        found,
        CATALOG_VERSION,
        house.catalog.fingerprint,
        choice.told | (matching.told if matching else {}),
        tuple(dict.fromkeys((*read_notes, *notes(sides)))),
    )
    if output is None:
        return result
    return replace(result, files=tuple(write_files(result, Path(output), to_write)))


def _runs_of(
    house: Warehouse, given: Sequence[PathLike], options: ReadOptions, views: Sequence[View]
) -> tuple[list[str], list[str]]:
    """Run ids of what a user gave as paths, ids or labels, and notes on the runs that were ingested from paths.

    Results of these runs are computed as far as `views` read them.
    """
    sources = {one: source for one in given if (source := _source(house, one, options)) is not None}
    if options.flow_category is not None and not sources:
        raise UsageError(
            "--gpu-flow-cat says how to read a trace, and both runs are in the warehouse already; use it with `ingest`"
        )
    wanted = [(source, storable(source.name)) for source in sources.values()]
    done = ingest_sources(house, wanted, False, options, views)
    ingested = dict(zip(sources, (run.run_id for run in done), strict=True))
    run_ids = [ingested.get(one) or _known_run(house, os.fspath(one)) for one in given]
    return run_ids, [run.note for run in done if run.note]


def _sources(path: Path, options: ReadOptions) -> Iterator[Source]:
    """Runs of a path. Each thing that looks like a run but is not read is warned of; with `strict` it is an error."""
    # Imported on use: loading the readers would add a tenth to the start-up time of every other command.
    from pipeline.extract.source import find_sources  # noqa: PLC0415

    found = find_sources(path, options.prefer)
    if options.strict and found.left_out:
        raise InputError(f"--strict was given, and {'; '.join(map(str, found.left_out))}")
    for left_out in found.left_out:
        warnings.warn(str(left_out), LeftOutWarning, stacklevel=3)
    for source in found.sources:
        yield replace(source, flow_category=options.flow_category)


def _source(house: Warehouse, given: PathLike, options: ReadOptions) -> Source | None:
    """The source to ingest for a path; None for a run id or a label in the warehouse."""
    path = Path(given)
    if not path.exists() or os.fspath(given) in _names(house):
        return None
    found = list(_sources(path, options))
    if len(found) > 1:
        raise UsageError(
            f"{path}: holds {len(found)} traces; ingest the folder and compare two of its runs, or name one of them"
        )
    return found[0]


def _names(house: Warehouse) -> set[str]:
    manifests = house.manifests()
    return set(manifests) | {manifest["label"] for manifest in manifests.values()}


def _known_run(house: Warehouse, name: str) -> str:
    """The run id that a run id or label stands for. Raises UsageError if no run or more than one matches."""
    manifests, name = house.manifests(), storable(name)
    if name in manifests:
        return name
    labelled = [run_id for run_id, manifest in manifests.items() if manifest["label"] == name]
    if len(labelled) > 1:
        raise UsageError(f"label {name!r} names {len(labelled)} runs; give one of: {', '.join(labelled)}")
    if not labelled:
        known = ", ".join(manifests) or "none yet"
        raise UsageError(f"{name!r} is neither a file or folder nor a run of {house.folder}; runs there: {known}")
    return labelled[0]


def query(
    sql: str, *, warehouse: PathLike | None = None, memory: str | None = None, own_views: PathLike | None = None
) -> pa.Table:
    """Run one SELECT over the warehouse, read-only, and return its rows. `own_views` is as in `Choice`.

    Raises UsageError for anything but one SELECT, and for an error in the query.
    """
    house = _warehouse(warehouse, memory, own_views)
    sql = storable(sql)
    with house.open_up_to_date() as connection:
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
        except (duckdb.IOException, duckdb.OutOfMemoryException):  # not the query's fault
            raise
        except duckdb.Error as error:
            raise UsageError(f"the query failed: {error}") from error


def _explains_select(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    inner = re.sub(r"(?is)^\s*explain\s+(analyze\s+)?", "", sql)
    return [statement.type for statement in connection.extract_statements(inner)] == [duckdb.StatementType.SELECT]


def table(view: str, *, run: str | None = None, warehouse: PathLike | None = None) -> ResultTable:
    """All rows of a public view, or those of one run (by run id or label), in the view's order."""
    house = Warehouse(warehouse_folder(warehouse))
    found = house.catalog.mart(view)
    parameters = {"run": _known_run(house, run)} if run else {}
    where = "where run_id = $run" if run else ""
    with house.open_up_to_date(views=[found]) as connection:
        return ResultTable(
            found, fetch(connection, f"select * from {found.qualified} {where} order by {found.order}", parameters)
        )


def views(*, warehouse: PathLike | None = None, own_views: PathLike | None = None) -> Catalog:
    """The catalog of built-in views and of the user's own, from the warehouse and from the folder `own_views`."""
    found = _warehouse(warehouse, None, own_views)
    _tell_refused(found)
    return found.catalog


def _warehouse(folder: PathLike | None, memory: str | None, own_views: PathLike | None) -> Warehouse:
    own = None if own_views is None else Path(own_views)
    if own is not None and not own.is_dir():
        raise UsageError(f"{own}: not a folder; give a folder with SQL files of your own views")
    return Warehouse(warehouse_folder(folder), memory, own)


def _tell_refused(house: Warehouse) -> None:
    for path, reason in house.refused.items():
        warnings.warn(f"{path}: this view was left out: {reason}", LeftOutWarning, stacklevel=3)


__all__ = [
    "Choice",
    "Comparison",
    "Ingested",
    "Matching",
    "Progress",
    "ReadOptions",
    "ResultTable",
    "Side",
    "TracemillError",
    "compare",
    "ingest",
    "query",
    "table",
    "views",
]
