"""The stamp of a database of views: what it was built from. If that has changed, the database must be built again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.catalog.header import View
from pipeline.catalog.install import quoted
from pipeline.errors import WarehouseError


def attach(database: Path) -> str:
    """The statement that attaches a database of views."""
    return f"attach if not exists {quoted(str(database))} as warehouse (read_only)"


def stamp_of(
    catalog: Catalog, folder: Path, run_ids: Iterable[str], missing: Mapping[str, Sequence[str]] | None = None
) -> dict[str, str]:
    """The stamp of a database of this catalog's views over these runs.

    `missing` names, by result, the runs that lacked it when the database was built.
    """
    return {
        "catalog_version": CATALOG_VERSION,
        "fingerprint": catalog.fingerprint,
        "folder": str(folder),
        "runs": json.dumps(sorted(run_ids)),
        "missing": json.dumps(missing or {}),
    }


def lacks(stamp: Mapping[str, str], run_ids: Iterable[str], results: Iterable[View]) -> bool:
    """Was one of the results missing, for one of the runs, when the database with this stamp was built?"""
    missing, runs = json.loads(stamp["missing"]), set(run_ids)
    return any(not runs.isdisjoint(missing.get(view.qualified, ())) for view in results)


def read_stamp(database: Path, connection: duckdb.DuckDBPyConnection) -> dict[str, str] | None:
    """Attach a database and read its stamp; None if there is no readable database.

    Raises WarehouseError if a newer version has built it.
    """
    try:
        connection.execute(attach(database))
        cursor = connection.execute("select * from warehouse.marts.catalog_version")
        names = [column[0] for column in cursor.description or []]
        (row,) = cursor.fetchall()
    except (duckdb.Error, ValueError):
        return None
    stamp = dict(zip(names, row, strict=True))
    if _version(stamp["catalog_version"]) > _version(CATALOG_VERSION):
        raise WarehouseError(
            f"{database}: built with catalog {stamp['catalog_version']}, but this tracemill has {CATALOG_VERSION}; "
            "upgrade tracemill, or delete the file to go back"
        )
    return stamp


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
