"""Writes the catalog into a DuckDB database as schemas, macros, views and comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog, Seed
from pipeline.catalog.comparison import macro_of_steps
from pipeline.catalog.header import COLUMN_TYPES, View
from pipeline.errors import CatalogError
from pipeline.schema import RAW_TABLES

_DUCKDB_TYPE = {pa.int64(): "BIGINT", pa.string(): "VARCHAR"}
# Files of a relation: raw table or materialised view -> Parquet files below run_id=… folders.
Partitions = Mapping[str, Sequence[Path]]
# Begins to make the files of a materialised view.
Compute = Callable[[View], Future[Sequence[Path]]]


def install(
    connection: duckdb.DuckDBPyConnection,
    catalog: Catalog,
    partitions: Partitions,
    *,
    compute: Compute | None = None,
    comments: bool = True,
) -> None:
    """Create the relations of the catalog over the given files.

    A materialised view reads its files. Where it has none, `compute` is asked to make them, as soon as all that the
    view reads is there; without `compute` it has no rows. With `compute`, only what the materialised views read is
    created, without comments. Raises CatalogError where a header and what DuckDB returns do not agree.
    """
    install_alignment(connection)
    for schema in ("raw", "seeds", "macros", "staging", "intermediate", "marts"):
        connection.execute(f"create schema {schema}")
    _create_raw_tables(connection, partitions)
    for seed in catalog.seeds.values():
        _create_view(connection, f"seeds.{seed.name}", _seed_values(seed))
    for macro in catalog.macros_in_order():
        connection.execute(f"create macro macros.{macro.signature} as ({macro.body})")
    built_in = [view for view in catalog.views.values() if view.file is None]
    views = catalog.read_by(catalog.materialized) if compute else built_in
    _create_views(connection, catalog, views, partitions, compute)
    _check(connection, views)
    if not compute:
        for view in views:
            _create_macro_of_steps(connection, catalog, view)
        if comments:
            _comment(connection, views)


def install_own(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> dict[str, str]:
    """Create a user's own views where `install` has made the others. Returns why files were refused, by path."""
    refused = {}
    for view in [view for view in catalog.views.values() if view.file is not None]:
        try:
            _create_view(connection, view.qualified, view.body)
            _check(connection, [view])
            _create_macro_of_steps(connection, catalog, view)
        except CatalogError as error:
            connection.execute(f"drop view if exists {view.qualified}")
            refused[str(view.file)] = " ".join(str(error).split())
        else:
            _comment(connection, [view])
    return refused


def _create_macro_of_steps(connection: duckdb.DuckDBPyConnection, catalog: Catalog, view: View) -> None:
    if not view.is_comparison or view.layer != "marts":
        return
    if of_steps := macro_of_steps(catalog.views, view):
        try:
            connection.execute(f"create or replace macro {of_steps}")
        except duckdb.Error as error:
            raise CatalogError(f"{view.qualified}: {error}") from error


def install_partitions(
    connection: duckdb.DuckDBPyConnection, catalog: Catalog, partitions: Partitions, *, compute: Compute | None = None
) -> None:
    """Let the relations of a database that `install` has made read other files; the rest of them stays as it is."""
    install_alignment(connection)
    _create_raw_tables(connection, partitions)
    _create_views(connection, catalog, catalog.materialized, partitions, compute)
    if not compute:
        _comment(connection, catalog.materialized)


def _create_raw_tables(connection: duckdb.DuckDBPyConnection, partitions: Partitions) -> None:
    for table, fields in RAW_TABLES.items():
        types = {"run_id": "VARCHAR"} | {field.name: _DUCKDB_TYPE[field.type] for field in fields}
        _create_view(connection, f"raw.{table}", _over_files(types, partitions.get(f"raw.{table}", ())))


def _create_views(
    connection: duckdb.DuckDBPyConnection,
    catalog: Catalog,
    views: Iterable[View],
    partitions: Partitions,
    compute: Compute | None,
) -> None:
    """Create views in their order; one that is computed meanwhile is there before the first that reads it."""
    begun: dict[str, Future[Sequence[Path]]] = {}

    def finish(names: Iterable[str]) -> None:
        for name in names:
            _create_view(connection, name, _over_files(_names(catalog.views[name]), begun.pop(name).result()))

    for view in views:
        finish([read.qualified for read in catalog.read_by([view]) if read.qualified in begun])
        files = partitions.get(view.qualified)
        if not view.materialized:
            _create_view(connection, view.qualified, view.body)
        elif files:
            _create_view(connection, view.qualified, _over_files(_names(view), files))
        elif compute:
            begun[view.qualified] = compute(view)
        else:
            _create_view(connection, view.qualified, _over_files(_types(connection, view.body), ()))
    finish(list(begun))


def _names(view: View) -> dict[str, str]:
    return {column.name: "" for column in view.columns}


def _comment(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    connection.execute("; ".join(statement for view in views for statement in _comments(view)))


def _comments(view: View) -> Iterator[str]:
    yield f"comment on view {view.qualified} is {quoted(f'{view.summary} {view.rules}'.strip())}"
    for column in view.columns:
        yield f"comment on column {view.qualified}.{column.name} is {quoted(column.meaning)}"


def quoted(text: str) -> str:
    """A SQL string literal, for DDL, where parameters are not allowed."""
    return "'" + text.replace("'", "''") + "'"


def _create_view(connection: duckdb.DuckDBPyConnection, name: str, body: str) -> None:
    try:
        connection.execute(f"create or replace view {name} as {body}")
    except duckdb.OperationalError:  # the disk's, not the view's
        raise
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


def _types(connection: duckdb.DuckDBPyConnection, body: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in connection.execute(f"describe {body}").fetchall()}


def _check(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    """Hold every header against the columns that DuckDB has for the view."""
    returned: dict[str, dict[str, str]] = {}
    for schema, name, column, kind in connection.execute(
        "select schema_name, table_name, column_name, data_type from duckdb_columns()"
        " order by schema_name, table_name, column_index"
    ).fetchall():
        returned.setdefault(f"{schema}.{name}", {})[column] = kind
    for view in views:
        columns = returned[view.qualified]
        if [column.name for column in view.columns] != list(columns):
            declared = ", ".join(column.name for column in view.columns)
            raise CatalogError(f"{view.qualified}: the header lists {declared}; the query returns {', '.join(columns)}")
        for column in view.columns:
            if columns[column.name] not in COLUMN_TYPES[column.type]:
                raise CatalogError(
                    f"{view.qualified}.{column.name}: {column.type} in the header, {columns[column.name]} in the query"
                )
