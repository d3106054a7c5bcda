"""Databases of the catalog's views. Most views do not depend on runs, so a new database starts as a copy."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.install import Partitions, install, install_own, install_partitions, quoted
from pipeline.version import VERSION
from pipeline.warehouse.stamp import read_stamp, stamp_of

# Databases that the user's cache keeps. Each version of tracemill or DuckDB, and each set of own views, has another.
_KEPT = 8
_SETTINGS: dict[str, Any] = {"python_enable_replacements": "false"}


def new_database(path: Path, catalog: Catalog, previous: Path) -> None:
    """Put a database of the catalog's views at `path`; the views that read files read those of any runs, or none.

    It is a copy of `previous`, else of one in the user's cache, if that has these views. Making them takes as long as
    the rest of a small comparison, so a database that had to be made is kept in the cache.
    """
    if _copied(previous, path, catalog) or _copied(cached := _cached(catalog), path, catalog):
        return
    with contextlib.closing(duckdb.connect(str(path), config=_SETTINGS)) as connection:
        connection.execute("begin")
        install(connection, catalog)
        _write_stamp(connection, stamp_of(catalog, path.parent, ()))
        connection.execute("commit")
    with contextlib.suppress(OSError):  # without a cache, the next process makes the views again
        _keep(path, cached)


def build_database(
    path: Path,
    catalog: Catalog,
    previous: Path,
    partitions: Partitions,
    missing: Mapping[str, Sequence[str]],
    stamp: Mapping[str, str],
) -> None:
    """Build a database of the catalog's views and the user's own at `path`, over the given files.

    `previous` is as in `new_database`, `missing` as in `install_partitions`.
    """
    new_database(path, catalog, previous)
    with contextlib.closing(duckdb.connect(str(path), config=_SETTINGS)) as connection:
        install_alignment(connection)
        connection.execute("begin")
        install_partitions(connection, catalog, partitions, missing)
        _write_stamp(connection, stamp)
        connection.execute("commit")
        # After the commit, since a view that DuckDB refuses aborts a transaction.
        if refused := install_own(connection, catalog):
            connection.execute(f"comment on view marts.catalog_version is {quoted(json.dumps(refused))}")


def _write_stamp(connection: duckdb.DuckDBPyConnection, stamp: Mapping[str, str]) -> None:
    fields = ", ".join(f"{quoted(value)} as {name}" for name, value in stamp.items())
    connection.execute(f"create or replace view marts.catalog_version as select {fields}")


def _copied(source: Path, path: Path, catalog: Catalog) -> bool:
    """Copy a database if its views are those of the catalog; return whether they were."""
    try:
        file = source.open("rb")
    except OSError:
        return False
    with file, path.open("wb") as copy:
        shutil.copyfileobj(file, copy)
    with contextlib.closing(duckdb.connect()) as connection:
        found = read_stamp(path, connection)
    if found and found["fingerprint"] == catalog.fingerprint:
        return True
    path.unlink()
    return False


def _cached(catalog: Catalog) -> Path:
    # Imported on use: most commands find the views in their warehouse.
    from platformdirs import user_cache_path  # noqa: PLC0415

    name = f"{VERSION}-{duckdb.__version__}-{catalog.fingerprint}.duckdb"
    return user_cache_path("tracemill", appauthor=False) / "views" / name


def _keep(made: Path, cached: Path) -> None:
    """Put a copy into the cache, by rename, and remove the oldest ones there."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
        shutil.copyfile(made, Path(folder, cached.name)).replace(cached)
    for old in sorted(cached.parent.glob("*.duckdb"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
