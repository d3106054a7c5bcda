"""The warehouse: a folder of Parquet partitions and manifests, and a DuckDB file that has only views over them.

`layout` says where they lie, `writer` how they get there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.header import View
from pipeline.catalog.install import quoted
from pipeline.errors import WarehouseError
from pipeline.schema import RAW_TABLES, TOLD_APART
from pipeline.warehouse.derivation import PART, derive
from pipeline.warehouse.layout import Layout, read_manifest, run_id_of
from pipeline.warehouse.machine import memory_limit, usable_cores
from pipeline.warehouse.problem import Problem
from pipeline.warehouse.querypool import queries_at_once
from pipeline.warehouse.settings import CONNECTION_SETTINGS, database_settings
from pipeline.warehouse.stamp import attach, lacks, read_stamp, stamp_of
from pipeline.warehouse.views import build_database, new_database
from pipeline.warehouse.writer import Workplace, Writer, out_of_memory, workplace, writer, writing

# Freed memory that DuckDB keeps while it answers queries: little, since an alignment or a workbook may need it next.
_KEEPS = "1MiB"
# With more runs than this, planning a query over all their files takes longer than making views over a few runs anew.
MANY_RUNS = 100
# Reads why files of a user's own views were refused: the database has it as a comment.
_REFUSED = (
    "select comment from duckdb_views() where database_name = 'warehouse' and schema_name = 'marts'"
    " and view_name = 'catalog_version'"
)
_DETACH = "detach database if exists warehouse"
_PROBLEMS = (
    "select kind, sum(problem_count)::bigint, coalesce(min_by(detail, event_index), any_value(detail), '')"
    " from {relation} group by kind, case when list_contains($apart, kind) then detail end"
    " order by kind, min(event_index)"
)
_APART = {"apart": sorted(TOLD_APART)}


class Warehouse:
    """A warehouse folder. Any number of readers and writers may use it at once.

    `memory` limits DuckDB (`2GB`). Without it, queries may use half of the machine's memory, and deriving results less.
    A user's own views lie in its folder `views` and in `own_views`; once a connection was made, `refused` says, by
    path, why some of these files were left out. `threads` defaults to all cores.
    """

    def __init__(
        self, folder: Path, memory: str | None = None, own_views: Path | None = None, threads: int | None = None
    ) -> None:
        self._threads = threads or usable_cores()
        self._memory = memory
        self._query_memory = memory_limit(memory)
        self.folder = folder.resolve()
        if not _is_utf8(self.folder):
            raise WarehouseError(
                f"{self.folder}: DuckDB opens only paths in UTF-8, and this is not one, or Python is not in UTF-8 mode;"
                " set PYTHONUTF8=1, or choose another with -w"
            )
        self.layout = Layout(self.folder)
        self.database = self.layout.database
        own = [self.folder / "views", *([own_views.resolve()] if own_views else [])]
        self.catalog = Catalog(extensions=self.folder / "seeds", own=own)
        self.refused = {str(path): reason for path, reason in self.catalog.refused.items()}

    # -- runs ------------------------------------------------------------------------------------------

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Manifests of all runs by run id. Raises WarehouseError for one that is invalid or of another version."""
        return {path.parent.name: read_manifest(path) for path in sorted(self.folder.glob("runs/*/manifest.json"))}

    def problems(self, run_id: str, connection: duckdb.DuckDBPyConnection) -> list[Problem]:
        """(kind, count, first detail) of a run's problems; kinds in TOLD_APART have an item for each detail.

        `connection` is one to this warehouse.
        """
        relation = "marts.problem where run_id = $run"
        return connection.execute(_PROBLEMS.format(relation=relation), {"run": run_id} | _APART).fetchall()

    def writer(self) -> contextlib.AbstractContextManager[Writer]:
        """A writer of this warehouse. Raises WarehouseError if the folder cannot be written."""
        return writer(self.layout)

    # -- derived results -------------------------------------------------------------------------------

    def derive(self, run_id: str, folder: Path, threads: int, views: Sequence[View] | None = None) -> list[Problem]:
        """Compute those results of a run that are missing, from its partitions alone, into an empty folder.

        If `views` are given, only the results that these read are computed. Returns the run's problems, in the form of
        `problems`; if none of the views reads them, only those that were found while the source was read.
        """
        made = Layout(folder)
        results = self._results(views)
        targets = {view.qualified: self._derived(view.qualified, run_id, made) for view in results}
        if targets:
            database = folder / "views.duckdb"
            with writing(self.folder):
                new_database(database, self.catalog, self.database)
                partitions = self._partitions([run_id])
                derive(database, self.catalog, partitions, targets, self._memory, threads)
        return self._problems_in_files(run_id, made)

    def complete(self, run_id: str, views: Sequence[View] | None = None) -> list[Problem]:
        """Compute those results of a run of the warehouse that are missing; else as `derive`."""
        with self._workplace() as place:
            self._complete(run_id, self._results(views), place)
            return self._problems_in_files(run_id, place.layout)

    def _problems_in_files(self, run_id: str, made: Layout) -> list[Problem]:
        paths = self._derived_files("marts.problem", [run_id], made) or self._raw_files("problem", run_id)
        if not paths:
            return []
        with contextlib.closing(duckdb.connect()) as connection:
            query = _PROBLEMS.format(relation="read_parquet($paths)")
            return connection.execute(query, {"paths": [str(path) for path in paths]} | _APART).fetchall()

    def _results(self, views: Sequence[View] | None) -> list[View]:
        return self.catalog.materialized if views is None else self.catalog.results(views)

    def _complete(self, run_id: str, results: Sequence[View], place: Workplace) -> None:
        """Compute those of the results that the run lacks, if any, and put them in place."""
        if all(self._derived_files(view.qualified, [run_id], place.layout) for view in results):
            return
        folder = place.new_folder()
        self.derive(run_id, folder, self._threads, results)
        place.put(folder)

    # -- reading ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def open_up_to_date(
        self, run_ids: Sequence[str] | None = None, views: Sequence[View] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection to views of all runs, which sees no other folder of the file system.

        `views` are those that will be read, of the runs `run_ids`; by default all. The results that they need are made
        first if they are missing or of another catalog. A query that reads a result which another run lacks fails.
        If `run_ids` are given and there are more than MANY_RUNS runs, the views cover only these.
        """
        with self._workplace() as place:
            config = {
                **database_settings(self._query_memory, _KEEPS, place.new_folder(), self._threads),
                "autoinstall_known_extensions": "false",
            }
            # The file is attached to an in-memory database: so one process may have it open more than once, before and
            # after it is replaced. A database opened by its path would be shared by all who open that path.
            with contextlib.closing(duckdb.connect(config=config)) as connection:
                self._attach(connection, place, run_ids, self._results(views))
                install_alignment(connection)
                connection.execute("use warehouse")
                ((refused,),) = connection.execute(_REFUSED).fetchall()
                self.refused |= json.loads(refused or "{}")
                folders = ", ".join(quoted(str(layout.folder)) for layout in {self.layout, place.layout})
                connection.execute(f"set allowed_directories = [{folders}]")
                connection.execute("set enable_external_access = false")
                connection.execute(CONNECTION_SETTINGS)
                connection.execute("set lock_configuration = true")
                with self._answering():
                    yield connection

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn failures that are not the query's fault into WarehouseError."""
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise WarehouseError(out_of_memory(self.folder, error)) from error
        except duckdb.IOException as error:
            reason = str(error).partition("\n")[0]
            raise WarehouseError(
                f"{self.folder}: {reason}; if a run's files are gone, ingest it again; if the disk is full, free space"
            ) from error

    def refresh(self) -> None:
        """Bring the database up to date with the catalog and the runs that exist, without computing results."""
        with self._workplace() as place, contextlib.closing(duckdb.connect()) as connection:
            manifests = self.manifests()
            stamp = self._attach_current(connection, manifests)
            if stamp is None or self._has_more(stamp):
                self._attach_replacement(connection, place, list(manifests))

    def _has_more(self, stamp: Mapping[str, str]) -> bool:
        """Is there a result now that was missing when the database with this stamp was built?"""
        return any(self._derived_files(view, runs) for view, runs in json.loads(stamp["missing"]).items())

    def _workplace(self) -> contextlib.AbstractContextManager[Workplace]:
        if not self.folder.is_dir():
            raise WarehouseError(f"{self.folder}: no warehouse here; ingest a run first, or name another with -w")
        return workplace(self.layout)

    def at_once(self, run_ids: Iterable[str]) -> int:
        """How many queries over these runs to answer at once: one if memory was limited or a run is large."""
        raw = (self.folder.glob(f"raw/*/run_id={run_id}/part-*.parquet") for run_id in run_ids)
        return min(queries_at_once(partitions, self._memory is not None, self._threads) for partitions in raw)

    def _attach(
        self,
        connection: duckdb.DuckDBPyConnection,
        place: Workplace,
        run_ids: Sequence[str] | None,
        results: Sequence[View],
    ) -> None:
        """Attach a database with views of the runs, after making the results that they lack.

        It is the warehouse's, made anew if it is out of date. If that cannot be written, has too many runs, or lacks
        one of the results for another run, a temporary one has these runs alone.
        """
        manifests = self.manifests()
        wanted = list(manifests) if run_ids is None else run_ids
        stamp = self._attach_current(connection, manifests)
        if stamp is None or lacks(stamp, wanted, results):
            for run_id in wanted:
                self._complete(run_id, results, place)
            covered = list(manifests) if place.layout == self.layout else wanted
            stamp = self._attach_replacement(connection, place, covered)
        if run_ids is not None and (len(manifests) > MANY_RUNS or lacks(stamp, manifests, results)):
            self._attach_new(connection, place, wanted)

    def _attach_current(self, connection: duckdb.DuckDBPyConnection, run_ids: Iterable[str]) -> dict[str, str] | None:
        """Attach the warehouse's database; return its stamp if it has the catalog's views over exactly these runs."""
        stamp = read_stamp(self.database, connection)
        if stamp is None:
            return None
        wanted = stamp_of(self.catalog, self.folder, run_ids)
        return stamp if stamp == wanted | {"missing": stamp.get("missing")} else None

    def _attach_replacement(
        self, connection: duckdb.DuckDBPyConnection, place: Workplace, run_ids: Sequence[str]
    ) -> dict[str, str]:
        """Attach a new database over these runs, and make it the warehouse's; return its stamp."""
        database, stamp = self._attach_new(connection, place, run_ids)
        place.put_database(database)
        return stamp

    def _attach_new(
        self, connection: duckdb.DuckDBPyConnection, place: Workplace, run_ids: Sequence[str]
    ) -> tuple[Path, dict[str, str]]:
        """Build a database over these runs, and attach it under its temporary name; return its path and stamp.

        Only this process knows that name: others may replace the warehouse's database at any moment.
        """
        connection.execute(_DETACH)
        database = place.new_folder() / self.database.name
        partitions = self._partitions(run_ids, place.layout)
        missing = {
            view.qualified: lacking
            for view in self.catalog.materialized
            if (lacking := sorted({*run_ids} - {run_id_of(path.parent) for path in partitions[view.qualified]}))
        }
        stamp = stamp_of(self.catalog, self.folder, run_ids, missing)
        with writing(place.layout.folder):
            build_database(database, self.catalog, self.database, partitions, missing, stamp)
        connection.execute(attach(database))
        return database, stamp

    # -- places ----------------------------------------------------------------------------------------

    def _derived(self, view: str, run_id: str, layout: Layout) -> Path:
        return layout.derived(view.split(".")[1], self.catalog.fingerprints[view], run_id)

    def _derived_files(self, view: str, run_ids: Iterable[str], *others: Layout) -> list[Path]:
        """Files of a view's results, from the warehouse or else from the other places."""
        found = []
        for run_id in run_ids:
            parts = (self._derived(view, run_id, layout) / PART for layout in (self.layout, *others))
            found += [part for part in parts if part.exists()][:1]
        return found

    def _raw_files(self, table: str, run_id: str) -> list[Path]:
        return sorted(self.layout.raw(table, run_id).glob("part-*.parquet"))

    def _partitions(self, run_ids: Sequence[str], *others: Layout) -> dict[str, list[Path]]:
        partitions = {
            f"raw.{table}": [path for run_id in run_ids for path in self._raw_files(table, run_id)]
            for table in RAW_TABLES
        }
        return partitions | {
            view.qualified: self._derived_files(view.qualified, run_ids, *others) for view in self.catalog.materialized
        }


def _is_utf8(path: Path) -> bool:
    """Does a path have the same bytes for the system as for DuckDB, which uses UTF-8?"""
    try:
        return os.fsencode(path) == str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
