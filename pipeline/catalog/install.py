"""Writes the catalog into a DuckDB database as schemas, macros, views and comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.catalog.catalog import Catalog, Seed
from pipeline.catalog.header import COLUMN_TYPES, View
from pipeline.errors import CatalogError
from pipeline.schema import RAW_TABLES

_DUCKDB_TYPE = {pa.int64(): "BIGINT", pa.string(): "VARCHAR"}
# Files of a relation: raw table or materialised view -> Parquet files below run_id=… folders.
Partitions = Mapping[str, Sequence[Path]]


def install(connection: duckdb.DuckDBPyConnection, catalog: Catalog, partitions: Partitions) -> None:
    """Create every relation of the catalog over the given files, in one transaction.

    A materialised view reads its files, also where there are none. Raises CatalogError where a header and what
    DuckDB returns do not agree.
    """
    connection.execute("begin")
    for schema in ("raw", "seeds", "macros", "staging", "intermediate", "marts"):
        connection.execute(f"create schema {schema}")
    for table, fields in RAW_TABLES.items():
        types = {"run_id": "VARCHAR"} | {field.name: _DUCKDB_TYPE[field.type] for field in fields}
        _create_view(connection, f"raw.{table}", _over_files(types, partitions.get(f"raw.{table}", ())))
    for seed in catalog.seeds.values():
        _create_view(connection, f"seeds.{seed.name}", _seed_values(seed))
    for macro in catalog.macros_in_order():
        connection.execute(f"create macro macros.{macro.signature} as ({macro.body})")
    for view in catalog.views.values():
        install_view(connection, view, partitions.get(view.qualified, ()))
    connection.execute("commit")


def install_view(connection: duckdb.DuckDBPyConnection, view: View, files: Sequence[Path] = ()) -> None:
    """Create (or replace) one view, check it against its header and comment it; see `install`."""
    _create_view(connection, view.qualified, view.body)
    returned = [(str(row[0]), str(row[1])) for row in connection.execute(f"describe {view.qualified}").fetchall()]
    _check(view, returned)
    if view.materialized:
        _create_view(connection, view.qualified, _over_files(dict(returned), files))
    connection.execute(f"comment on view {view.qualified} is {quoted(f'{view.summary} {view.rules}'.strip())}")
    for column in view.columns:
        connection.execute(f"comment on column {view.qualified}.{column.name} is {quoted(column.meaning)}")


def quoted(text: str) -> str:
    """A SQL string literal, for DDL, where parameters are not allowed."""
    return "'" + text.replace("'", "''") + "'"


def _create_view(connection: duckdb.DuckDBPyConnection, name: str, body: str) -> None:
    try:
        connection.execute(f"create or replace view {name} as {body}")
    except duckdb.Error as error:
        raise CatalogError(f"{name}: {error}") from error


def _over_files(types: dict[str, str], files: Sequence[Path]) -> str:
    """Select over Parquet partitions by run_id; without a file, no rows of the same types."""
    if not files:
        return "select " + ", ".join(f"null::{kind} as {name}" for name, kind in types.items()) + " where false"
    names = ", ".join(types)
    paths = ", ".join(quoted(str(path)) for path in files)
    return f"select {names} from read_parquet([{paths}], hive_partitioning = true, hive_types = {{'run_id': varchar}})"


def _seed_values(seed: Seed) -> str:
    rows = ", ".join(f"({order}, {', '.join(quoted(value) for value in row)})" for order, row in enumerate(seed.rows))
    columns = ", ".join(seed.columns)
    typed = ", ".join(f"{name}::bigint as {name}" if name.endswith("_bytes") else name for name in seed.columns)
    return f"select rule_order, {typed} from (values {rows}) as seed (rule_order, {columns})"


def _check(view: View, returned: list[tuple[str, str]]) -> None:
    declared = [column.name for column in view.columns]
    if declared != [name for name, _ in returned]:
        names = ", ".join(name for name, _ in returned)
        raise CatalogError(f"{view.qualified}: the header lists {', '.join(declared)}; the query returns {names}")
    for column, (name, kind) in zip(view.columns, returned, strict=True):
        if kind not in COLUMN_TYPES[column.type]:
            raise CatalogError(f"{view.qualified}.{name}: {column.type} in the header, {kind} in the query")
