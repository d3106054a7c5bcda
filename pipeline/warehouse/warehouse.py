"""The warehouse: a folder of Parquet partitions and manifests, and a DuckDB file that has only views over them.

`layout` says where they lie, `writer` how they get there.
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

    def derive(self, run_id: str, folder: Path, threads: int) -> list[Problem]:
        """Compute a run's missing results from its partitions alone, into an empty folder.

        Returns the run's problems, in the form of `problems`.
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
        """Compute the run's missing results, if any, and put them in place."""
        if all(self._derived_files(view.qualified, [run_id], place.layout) for view in self.catalog.materialized):
            return
        folder = place.new_folder()
        self.derive(run_id, folder, self._threads)
        place.put(folder)

    # -- reading ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def open_up_to_date(self, run_ids: Sequence[str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection that sees all runs, and no other folder of the file system.

        Results and views that are missing or of another catalog are made first. If `run_ids` are given and there are
        more than MANY_RUNS runs, the views cover only these.
        """
        with self._workplace() as place:
            config = {
                **database_settings(self._query_memory, _KEEPS, place.new_folder(), self._threads),
                "autoinstall_known_extensions": "false",
            }
            # The file is attached to an in-memory database: so one process may have it open more than once, before and
            # after it is replaced. A database opened by its path would be shared by all who open that path.
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
        """Bring derived results and the database up to date with the catalog and the runs that exist."""
        with self._workplace() as place, contextlib.closing(duckdb.connect()) as connection:
            self._bring_up(connection, place)

    def _workplace(self) -> contextlib.AbstractContextManager[Workplace]:
        if not self.folder.is_dir():
            raise WarehouseError(f"{self.folder}: no warehouse here; ingest a run first, or name another with -w")
        return workplace(self.layout)

    def at_once(self, run_ids: Iterable[str]) -> int:
        """How many queries over these runs to answer at once: one if memory was limited or a run is large."""
        raw = (self.folder.glob(f"raw/*/run_id={run_id}/part-*.parquet") for run_id in run_ids)
        return min(queries_at_once(partitions, self._memory is not None, self._threads) for partitions in raw)

    def _bring_up(
        self, connection: duckdb.DuckDBPyConnection, place: Workplace, run_ids: Sequence[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Attach the database, made anew if it is out of date; return the manifests of all runs.

        If the warehouse cannot be written and `run_ids` are given, a temporary database covers only these runs.
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
        # Attached under its temporary name, which is only ours: others may replace the warehouse's at any moment.
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
            # After the commit, since a view that DuckDB refuses aborts a transaction.
            if refused := install_own(connection, self.catalog):
                connection.execute(f"comment on view marts.catalog_version is {quoted(json.dumps(refused))}")

    def _take_over_views(self, path: Path) -> bool:
        """Copy the database to `path` if its views are those of the catalog; return whether they were.

        Most views do not depend on runs. Making them anew would take most of the time of a small ingest.
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
        """Files of a view's results, from the warehouse or else from the other places."""
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
    """Does a path have the same bytes for the system as for DuckDB, which uses UTF-8?"""
    try:
        return os.fsencode(path) == str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
