"""The warehouse: a folder of Parquet partitions and manifests, and a DuckDB file of nothing but views over them.

`layout` tells where they lie, `writer` how they come there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.install import Partitions, install, install_own, install_partitions, quoted
from pipeline.errors import WarehouseError
from pipeline.schema import RAW_TABLES, TOLD_APART
from pipeline.warehouse.derivation import PART, derive
from pipeline.warehouse.layout import Layout, read_manifest
from pipeline.warehouse.machine import memory_limit, usable_cores
from pipeline.warehouse.problem import Problem
from pipeline.warehouse.querypool import queries_at_once
from pipeline.warehouse.settings import CONNECTION_SETTINGS, database_settings
from pipeline.warehouse.stamp import attach, read_stamp, stamp_of
from pipeline.warehouse.writer import Workplace, Writer, out_of_memory, workplace, writer, writing

# Freed memory that DuckDB keeps while it answers queries: little, since an alignment or a workbook may follow.
_KEEPS = "1MiB"
# Above so many runs, making the views anew over a few takes less time than planning a query over the files of all.
MANY_RUNS = 100
# Where a database keeps why files of a user's own views were refused.
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
    """A warehouse folder. Any number of readers and writers may use it side by side.

    `memory` limits DuckDB (`2GB`): half of the machine for queries, and less while results are derived, without it. A
    user's own views lie in its folder `views`, and in another that is named here; `refused` says why files of them were
    left out, by path, once a connection was made. `threads` are all cores without a number.
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
                f"{self.folder}: DuckDB opens only paths in UTF-8, and this is none, or Python is not in UTF-8 mode"
                " (PYTHONUTF8=1); choose another with -w"
            )
        self.layout = Layout(self.folder)
        self.database = self.layout.database
        own = [self.folder / "views", *([own_views.resolve()] if own_views else [])]
        self.catalog = Catalog(extensions=self.folder / "seeds", own=own)
        self.refused = {str(path): reason for path, reason in self.catalog.refused.items()}

    # -- runs ------------------------------------------------------------------------------------------

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Manifests of all runs by run id. Raises WarehouseError for one that is unreadable or of another version."""
        return {path.parent.name: read_manifest(path) for path in sorted(self.folder.glob("runs/*/manifest.json"))}

    def problems(self, run_id: str, connection: duckdb.DuckDBPyConnection) -> list[Problem]:
        """(kind, count, first detail) of a run, by a connection to the warehouse; of TOLD_APART, each detail."""
        relation = "marts.problem where run_id = $run"
        return connection.execute(_PROBLEMS.format(relation=relation), {"run": run_id} | _APART).fetchall()

    def writer(self) -> contextlib.AbstractContextManager[Writer]:
        """Who may write here. Raises WarehouseError where nobody can."""
        return writer(self.layout)

    # -- derived results -------------------------------------------------------------------------------

    def derive(self, run_id: str, folder: Path, threads: int) -> list[Problem]:
        """Compute what is kept per run and is not there yet, reading only that run's partitions, into an empty folder.

        Returns the run's problems, as `problems` does for one that is there.
        """
        made = Layout(folder)
        targets = {view.qualified: self._derived(view.qualified, run_id, made) for view in self.catalog.materialized}
        database = folder / "views.duckdb"
        with writing(self.folder):
            has_views = self._take_over_views(database)
            partitions = self._partitions([run_id])
            derive(database, self.catalog, partitions, targets, has_views, self._memory, threads)
        (path,) = self._derived_files("marts.problem", [run_id], made)
        with contextlib.closing(duckdb.connect()) as connection:
            query = _PROBLEMS.format(relation="read_parquet($path)")
            return connection.execute(query, {"path": str(path)} | _APART).fetchall()

    def _complete(self, run_id: str, place: Workplace) -> None:
        """Compute what is missing of a run."""
        if all(self._derived_files(view.qualified, [run_id], place.layout) for view in self.catalog.materialized):
            return
        folder = place.new_folder()
        self.derive(run_id, folder, self._threads)
        place.put(folder)

    # -- reading ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def open_up_to_date(self, run_ids: Sequence[str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection that sees every run and nothing of the file system but this folder.

        Results and views that are missing or of another catalog are made first.

        Where there are more than MANY_RUNS, and `run_ids` are given, the views are over these alone.
        """
        with self._workplace() as place:
            config = {
                **database_settings(self._query_memory, _KEEPS, place.new_folder(), self._threads),
                "autoinstall_known_extensions": "false",
            }
            # Attached to a database of its own in memory: one process may have it open more than once, before and
            # after it is replaced, while a database opened by its path is shared by all who open that path.
            with contextlib.closing(duckdb.connect(config=config)) as connection:
                manifests = self._bring_up(connection, place, run_ids)
                if run_ids is None or len(manifests) <= MANY_RUNS:
                    install_alignment(connection)
                    connection.execute("use warehouse")
                    ((refused,),) = connection.execute(_REFUSED).fetchall()
                    self.refused |= json.loads(refused or "{}")
                else:
                    connection.execute(_DETACH)
                    install(connection, self.catalog, self._partitions(run_ids, place.layout), comments=False)
                    self.refused |= install_own(connection, self.catalog)
                folders = ", ".join(quoted(str(layout.folder)) for layout in {self.layout, place.layout})
                connection.execute(f"set allowed_directories = [{folders}]")
                connection.execute("set enable_external_access = false")
                connection.execute(CONNECTION_SETTINGS)
                connection.execute("set lock_configuration = true")
                with self._answering():
                    yield connection

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Tell failures that are none of the query."""
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise WarehouseError(out_of_memory(self.folder, error)) from error
        except duckdb.IOException as error:
            reason = str(error).partition("\n")[0]
            raise WarehouseError(
                f"{self.folder}: {reason}; ingest again the run whose files are gone, or free space on a full disk"
            ) from error

    def refresh(self) -> None:
        """Bring derived results and the database up to the catalog and the runs that exist."""
        with self._workplace() as place, contextlib.closing(duckdb.connect()) as connection:
            self._bring_up(connection, place)

    def _workplace(self) -> contextlib.AbstractContextManager[Workplace]:
        if not self.folder.is_dir():
            raise WarehouseError(f"{self.folder}: no warehouse here; ingest a run first or name another with -w")
        return workplace(self.layout)

    def at_once(self, run_ids: Iterable[str]) -> int:
        """How many queries over runs to answer at once: one where the memory was limited, or a run is a large one."""
        raw = (self.folder.glob(f"raw/*/run_id={run_id}/part-*.parquet") for run_id in run_ids)
        return min(queries_at_once(partitions, self._memory is not None, self._threads) for partitions in raw)

    def _bring_up(
        self, connection: duckdb.DuckDBPyConnection, place: Workplace, run_ids: Sequence[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Attach a database of all runs, made anew where it is not up to date; return their manifests.

        What cannot be kept is made for these runs alone, where `run_ids` are given.
        """
        manifests = self.manifests()
        stamp = stamp_of(self.catalog, self.folder, manifests)
        if read_stamp(self.database, connection) == stamp:
            return manifests
        connection.execute(_DETACH)
        wanted = list(manifests) if run_ids is None or place.layout == self.layout else run_ids
        for run_id in wanted:
            self._complete(run_id, place)
        database = place.new_folder() / self.database.name
        with writing(place.layout.folder):
            self._build(database, self._partitions(wanted, place.layout), stamp)
        # Attached by the name that nobody else has: others may replace the one in the warehouse at any moment.
        connection.execute(attach(database))
        place.put_database(database)
        return manifests

    def _build(self, path: Path, partitions: Partitions, stamp: dict[str, str]) -> None:
        make = install_partitions if self._take_over_views(path) else install
        with contextlib.closing(
            duckdb.connect(str(path), config={"python_enable_replacements": "false"})
        ) as connection:
            connection.execute("begin")
            make(connection, self.catalog, partitions)
            fields = ", ".join(f"{quoted(value)} as {name}" for name, value in stamp.items())
            connection.execute(f"create or replace view marts.catalog_version as select {fields}")
            connection.execute("commit")
            # Apart, since a view that DuckDB refuses ends a transaction.
            if refused := install_own(connection, self.catalog):
                connection.execute(f"comment on view marts.catalog_version is {quoted(json.dumps(refused))}")

    def _take_over_views(self, path: Path) -> bool:
        """Copy the database to `path` if its views are those of the catalog; were they?

        Making views that are the same for any runs would take most of the time of a small ingest.
        """
        with contextlib.suppress(OSError):
            shutil.copyfile(self._previous(), path)
        if not path.exists():
            return False
        with contextlib.closing(duckdb.connect()) as connection:
            found = read_stamp(path, connection)
        if found and found["fingerprint"] == self.catalog.fingerprint:
            return True
        path.unlink()
        return False

    def _previous(self) -> Path:
        return self.database

    # -- places ----------------------------------------------------------------------------------------

    def _derived(self, view: str, run_id: str, layout: Layout) -> Path:
        return layout.derived(view.split(".")[1], self.catalog.fingerprints[view], run_id)

    def _derived_files(self, view: str, run_ids: Iterable[str], *others: Layout) -> list[Path]:
        """Files of a result, in the warehouse or else in another place."""
        found = []
        for run_id in run_ids:
            parts = (self._derived(view, run_id, layout) / PART for layout in (self.layout, *others))
            found += [part for part in parts if part.exists()][:1]
        return found

    def _partitions(self, run_ids: Sequence[str], *others: Layout) -> dict[str, list[Path]]:
        partitions = {
            f"raw.{table}": [
                path for run_id in run_ids for path in sorted(self.layout.raw(table, run_id).glob("part-*.parquet"))
            ]
            for table in RAW_TABLES
        }
        return partitions | {
            view.qualified: self._derived_files(view.qualified, run_ids, *others) for view in self.catalog.materialized
        }


def _is_utf8(path: Path) -> bool:
    """Is a path the same bytes for the system as for DuckDB?"""
    try:
        return os.fsencode(path) == str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
