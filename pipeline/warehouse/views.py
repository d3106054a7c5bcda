"""Databases of the catalog's views. Most views do not depend on runs, so a new database starts as a copy."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import duckdb
from platformdirs import user_cache_path

from pipeline.catalog.catalog import Catalog
from pipeline.catalog.install import install, quoted
from pipeline.version import VERSION
from pipeline.warehouse.stamp import read_stamp, stamp_of

# Databases that the user's cache keeps. Each version of tracemill or DuckDB, and each set of own views, has another.
_CACHED = 8


def new_database(path: Path, catalog: Catalog, previous: Path) -> None:
    """Put a database of the catalog's views at `path`; the views that read files read those of any runs, or none.

    It is a copy of `previous`, else of one in the user's cache, if that has these views. Making them takes as long as
    the rest of a small comparison, so a database that had to be made is kept in the cache.
    """
    cached = _cache(catalog)
    if _copied(previous, path, catalog) or _copied(cached, path, catalog):
        return
    with contextlib.closing(duckdb.connect(str(path), config={"python_enable_replacements": "false"})) as connection:
        connection.execute("begin")
        install(connection, catalog, {})
        write_stamp(connection, stamp_of(catalog, path.parent, ()))
        connection.execute("commit")
    with contextlib.suppress(OSError):  # without a cache, the next process makes the views again
        _keep(path, cached)


def write_stamp(connection: duckdb.DuckDBPyConnection, stamp: Mapping[str, str]) -> None:
    """Write a stamp into the database that the connection has open."""
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


def _cache(catalog: Catalog) -> Path:
    name = f"{VERSION}-{duckdb.__version__}-{catalog.fingerprint}.duckdb"
    return user_cache_path("tracemill", appauthor=False) / "views" / name


def _keep(made: Path, cached: Path) -> None:
    """Put a copy into the cache, by rename, and remove the oldest ones there."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=cached.parent, prefix=".", delete=False) as temporary:
        try:
            shutil.copyfile(made, temporary.name)
            Path(temporary.name).replace(cached)
        except OSError:
            Path(temporary.name).unlink()
            raise
    for old in sorted(cached.parent.glob("*.duckdb"), key=lambda path: path.stat().st_mtime)[:-_CACHED]:
        old.unlink(missing_ok=True)
