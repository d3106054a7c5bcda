"""The warehouse: a folder of Parquet partitions and manifests, and a DuckDB file of nothing but views over them.

raw/<table>/run_id=<id>/part-NNNN.parquet      as extracted, never migrated
derived/<view>@<fingerprint>/run_id=<id>/…     results kept per run; a changed view has another folder
runs/<run_id>/manifest.json                    written last, by rename: a run exists if and only if it does
warehouse.duckdb                               replaced whole by rename, opened read-only, can be deleted
seeds/*.csv                                    optional rows of the user's own that come before the seeds'
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from pipeline.align import install_alignment
from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.catalog.install import install, install_partitions, quoted
from pipeline.errors import WarehouseError
from pipeline.load.derivation import derive
from pipeline.load.memory import memory_limit
from pipeline.load.partitions import put_in_place, remove
from pipeline.load.querypool import queries_at_once
from pipeline.load.settings import CONNECTION_SETTINGS, database_settings
from pipeline.schema import RAW_SCHEMA_VERSION, RAW_TABLES

# Freed memory that DuckDB keeps while it answers queries: little, since an alignment or a workbook may follow.
_KEEPS = "1MiB"
# Above so many runs, making the views anew over a few takes less time than planning a query over the files of all.
MANY_RUNS = 100
_DETACH = "detach database if exists warehouse"


class Warehouse:
    """A warehouse folder. Any number of readers and writers may use it side by side.

    `memory` limits DuckDB (`2GB`): half of the machine for queries, and less while results are derived, without it.
    """

    def __init__(self, folder: Path, memory: str | None = None) -> None:
        self._memory = memory
        self._query_memory = memory_limit(memory)
        self.folder = folder.resolve()
        self.database = self.folder / "warehouse.duckdb"
        self.catalog = Catalog(extensions=self.folder / "seeds")

    # -- runs ------------------------------------------------------------------------------------------

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Manifests of all runs by run id. Raises WarehouseError for one that is unreadable or of another version."""
        found = {}
        for path in sorted(self.folder.glob("runs/*/manifest.json")):
            try:
                manifest = json.loads(path.read_text(encoding="utf-8"))
                version = manifest["raw_schema_version"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise WarehouseError(
                    f"{path}: not a manifest ({error}); remove the folder and ingest the run again"
                ) from error
            if version > RAW_SCHEMA_VERSION:
                raise WarehouseError(f"{path}: written by a newer tracemill (raw schema {version}); upgrade tracemill")
            if version < RAW_SCHEMA_VERSION:
                raise WarehouseError(
                    f"{path}: raw schema {version} is outdated; ingest {manifest.get('source_path')} again"
                )
            found[path.parent.name] = manifest
        return found

    def new_folder(self) -> Path:
        """A folder of its own for a writer, inside the warehouse so that renames stay on one file system."""
        root = self.folder / "tmp"
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WarehouseError(
                f"{self.folder}: cannot be written: {error.strerror}; choose another with -w"
            ) from error
        _remove_abandoned(root)
        return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=root))

    def claim(self, run_id: str) -> bool:
        """Reserve a run id for this process; False where a run or a living writer has it."""
        folder = self.folder / "runs" / run_id
        folder.mkdir(parents=True, exist_ok=True)
        owner = folder / "writer"
        if (folder / "manifest.json").exists():
            return False
        try:
            with owner.open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            if _is_alive(owner.read_text()):
                return False
            owner.write_text(str(os.getpid()))
        return True

    def place(self, run_id: str, extracted: Path) -> None:
        """Put a claimed run's raw partitions in place; nothing shows them before `commit`."""
        for table in RAW_TABLES:
            if (extracted / table).exists():
                put_in_place(extracted / table, self._raw(table, run_id))

    def problems(self, run_id: str, connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
        """(kind, count, first detail) of a run whose results are derived, by any connection that may read its files."""
        (path,) = self._derived_files("marts.problem", [run_id])
        return connection.execute(
            "select kind, sum(problem_count)::bigint, coalesce(min_by(detail, event_index), any_value(detail), '')"
            " from read_parquet($path) group by kind order by kind",
            {"path": str(path)},
        ).fetchall()

    def commit(self, run_id: str, manifest: dict[str, Any]) -> None:
        """Make a placed and derived run visible: its manifest appears, by rename."""
        content = {"run_id": run_id, "raw_schema_version": RAW_SCHEMA_VERSION, **manifest}
        path = self.folder / "runs" / run_id / "manifest.json"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        temporary.replace(path)
        (path.parent / "writer").unlink(missing_ok=True)

    def abandon(self, run_id: str) -> None:
        """Remove a claimed run that is not going to be committed."""
        if (self.folder / "runs" / run_id / "manifest.json").exists():
            return
        remove([self._raw(table, run_id) for table in RAW_TABLES])
        remove(self.folder.glob(f"derived/*/run_id={run_id}"))
        remove([self.folder / "runs" / run_id])

    # -- derived results -------------------------------------------------------------------------------

    def derive(self, run_id: str) -> None:
        """Compute what is kept per run and is not there yet, reading only that run's partitions."""
        if all(self._derived_files(view.qualified, [run_id]) for view in self.catalog.materialized):
            return
        folder = self.new_folder()
        try:
            database = folder / "views.duckdb"
            make = partial(self._take_over_views(database), catalog=self.catalog)
            targets = {view.qualified: self._derived(view.qualified, run_id) for view in self.catalog.materialized}
            derive(database, make, self._partitions([run_id]), targets, self._memory)
        finally:
            remove([folder])

    # -- reading ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def connect(self, run_ids: Sequence[str] | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection that sees every run and nothing of the file system but this folder.

        Where there are more than MANY_RUNS, and `run_ids` are given, the views are over these alone.
        """
        config = {
            **database_settings(self._query_memory, _KEEPS, self.folder / "tmp" / f"{os.getpid()}-query"),
            "autoinstall_known_extensions": "false",
        }
        # Attached to a database of its own in memory: one process may have it open more than once, before and
        # after it is replaced, while a database opened by its path is shared by all who open that path.
        connection = duckdb.connect(config=config)
        try:
            manifests = self._bring_up(connection)
            if run_ids is None or len(manifests) <= MANY_RUNS:
                install_alignment(connection)
                connection.execute(_attach(self.database))
                connection.execute("use warehouse")
            else:
                connection.execute(_DETACH)
                install(connection, self.catalog, self._partitions(run_ids), comments=False)
            connection.execute(f"set allowed_directories = [{quoted(str(self.folder))}]")
            connection.execute("set enable_external_access = false")
            connection.execute(CONNECTION_SETTINGS)
            connection.execute("set lock_configuration = true")
            yield connection
        finally:
            connection.close()

    def refresh(self) -> dict[str, dict[str, Any]]:
        """Bring derived results and the database up to the catalog and the runs that exist; return their manifests."""
        with contextlib.closing(duckdb.connect()) as connection:
            return self._bring_up(connection)

    def at_once(self, run_ids: Iterable[str]) -> int:
        """How many queries over runs to answer at once: one where the memory was limited, or a run is a large one."""
        raw = (self.folder.glob(f"raw/*/run_id={run_id}/part-*.parquet") for run_id in run_ids)
        return min(queries_at_once(partitions, self._memory is not None) for partitions in raw)

    def _bring_up(self, connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
        """As `refresh`; a database that is up to date already stays attached to the connection."""
        if not self.folder.is_dir():
            raise WarehouseError(f"{self.folder}: no warehouse here; ingest a run first or name another with -w")
        manifests = self.manifests()
        stamp = self._stamp(manifests)
        if self._stamp_of(self.database, connection) == stamp:
            return manifests
        connection.execute(_DETACH)
        for run_id in manifests:
            self.derive(run_id)
        self._rebuild(list(manifests), stamp)
        return manifests

    def _rebuild(self, run_ids: Sequence[str], stamp: dict[str, str]) -> None:
        folder = self.new_folder()
        try:
            path = folder / "warehouse.duckdb"
            make = self._take_over_views(path)
            with contextlib.closing(
                duckdb.connect(str(path), config={"python_enable_replacements": "false"})
            ) as connection:
                connection.execute("begin")
                make(connection, self.catalog, self._partitions(run_ids))
                fields = ", ".join(f"{quoted(value)} as {name}" for name, value in stamp.items())
                connection.execute(f"create or replace view marts.catalog_version as select {fields}")
                connection.execute("commit")
            path.replace(self.database)
        finally:
            remove([folder])

    def _take_over_views(self, path: Path) -> Callable[..., None]:
        """Copy the database to `path` if its views are those of the catalog; what is to be called to complete them.

        Making views that are the same for any runs would take most of the time of a small ingest.
        """
        with contextlib.suppress(OSError):
            shutil.copyfile(self._previous(), path)
        if not path.exists():
            return install
        with contextlib.closing(duckdb.connect()) as connection:
            found = self._stamp_of(path, connection)
        if found and found["fingerprint"] == self.catalog.fingerprint:
            return install_partitions
        path.unlink()
        return install

    def _previous(self) -> Path:
        return self.database

    def _stamp(self, run_ids: dict[str, dict[str, Any]]) -> dict[str, str]:
        """What a database was built from; another value means that it must be built again."""
        return {
            "catalog_version": CATALOG_VERSION,
            "fingerprint": self.catalog.fingerprint,
            "folder": str(self.folder),
            "runs": json.dumps(sorted(run_ids)),
        }

    def _stamp_of(self, database: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, str] | None:
        """Attach a database to see what it was built from; None where there is none that can be read."""
        try:
            connection.execute(_attach(database))
            cursor = connection.execute("select * from warehouse.marts.catalog_version")
            names = [column[0] for column in cursor.description or []]
            (row,) = cursor.fetchall()
        except (duckdb.Error, ValueError):
            return None
        stamp = dict(zip(names, row, strict=True))
        if _version(stamp["catalog_version"]) > _version(CATALOG_VERSION):
            raise WarehouseError(
                f"{database}: built by catalog {stamp['catalog_version']}, this tracemill has {CATALOG_VERSION}; "
                "upgrade tracemill, or delete the file to go back"
            )
        return stamp

    # -- places ----------------------------------------------------------------------------------------

    def _raw(self, table: str, run_id: str) -> Path:
        return self.folder / "raw" / table / f"run_id={run_id}"

    def _derived(self, view: str, run_id: str) -> Path:
        folder = self.folder / "derived" / f"{view.split('.')[1]}@{self.catalog.fingerprints[view]}"
        return folder / f"run_id={run_id}"

    def _derived_files(self, view: str, run_ids: Sequence[str]) -> list[Path]:
        return [path for run_id in run_ids if (path := self._derived(view, run_id) / "part-0000.parquet").exists()]

    def _partitions(self, run_ids: Sequence[str]) -> dict[str, list[Path]]:
        partitions = {
            f"raw.{table}": [
                path for run_id in run_ids for path in sorted(self._raw(table, run_id).glob("part-*.parquet"))
            ]
            for table in RAW_TABLES
        }
        return partitions | {
            view.qualified: self._derived_files(view.qualified, run_ids) for view in self.catalog.materialized
        }


def _attach(database: Path) -> str:
    return f"attach if not exists {quoted(str(database))} as warehouse (read_only)"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _remove_abandoned(root: Path) -> None:
    """Delete folders whose writer was killed."""
    for folder in root.iterdir():
        if not _is_alive(folder.name.split("-")[0]):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: str) -> bool:
    """Does the process still run? One that cannot be asked about is taken to."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True
