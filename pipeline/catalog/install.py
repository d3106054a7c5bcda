"""Writes the catalog into a DuckDB database as schemas, macros, views and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog, Seed
from pipeline.catalog.comparison import macro_of_steps
from pipeline.catalog.header import COLUMN_TYPES, View
from pipeline.errors import CatalogError
from pipeline.schema import RAW_TABLES
from pipeline.walk.walks import WALKS

_DUCKDB_TYPE = {pa.int64(): "BIGINT", pa.string(): "VARCHAR", pa.bool_(): "BOOLEAN"}
# Raw table or materialised view -> its Parquet files, in run_id=… folders.
Partitions = Mapping[str, Sequence[Path]]


def install(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """Create the relations of the catalog, over no files: raw tables and materialised views have no rows.

    Raises CatalogError if a header disagrees with the columns that DuckDB returns.
    """
    _install_foundation(connection, catalog)
    built_in = [view for view in catalog.views.values() if view.file is None]
    for view in built_in:
        create_view(connection, view)
    check_columns(connection, built_in)
    for view in built_in:
        _create_macro_of_steps(connection, catalog, view)
    _comment(connection, built_in)


def install_partitions(
    connection: duckdb.DuckDBPyConnection,
    catalog: Catalog,
    partitions: Partitions,
    missing: Mapping[str, Sequence[str]],
) -> None:
    """In a database that `install` has made, point the relations that read files at other files.

    `missing` names, by view, the runs that lack a result. Such a view has no rows for the other runs either: a query
    that reads it fails, and says why.
    """
    create_raw_tables(connection, partitions)
    types = _returned(connection)
    for view in catalog.materialized:
        if runs := missing.get(view.qualified):
            _create(connection, view.qualified, _without_result(view, types[view.qualified], runs))
        elif files := partitions.get(view.qualified):
            create_view(connection, view, files)
        else:
            _create(connection, view.qualified, _over_files(types[view.qualified], ()))
    _comment(connection, catalog.materialized)


def _install_foundation(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """Create everything below the views: schemas, raw tables, seeds and macros."""
    install_alignment(connection)
    for schema in ("raw", "seeds", "macros", "staging", "intermediate", "marts"):
        connection.execute(f"create schema {schema}")
    create_raw_tables(connection, {})
    for seed in catalog.seeds.values():
        _create(connection, f"seeds.{seed.name}", _seed_values(seed))
    for macro in catalog.macros_in_order():
        connection.execute(f"create macro macros.{macro.signature} as ({macro.body})")


def create_raw_tables(connection: duckdb.DuckDBPyConnection, partitions: Partitions) -> None:
    """Create the raw tables over their files, replacing raw tables over other files."""
    for table, fields in RAW_TABLES.items():
        types = {"run_id": "VARCHAR"} | {field.name: _DUCKDB_TYPE[field.type] for field in fields}
        _create(connection, f"raw.{table}", _over_files(types, partitions.get(f"raw.{table}", ())))


def create_view(connection: duckdb.DuckDBPyConnection, view: View, files: Sequence[Path] = ()) -> None:
    """Create a view; a materialised one reads its files. Raises CatalogError if DuckDB refuses the body."""
    if not view.materialized:
        _create(connection, view.qualified, view.body)
    elif files:
        _create(connection, view.qualified, _over_files(dict.fromkeys((c.name for c in view.columns), ""), files))
    else:
        types = _types_of_walk(view.walk) if view.walk else _types(connection, view.body)
        _create(connection, view.qualified, _over_files(types, ()))


def install_own(connection: duckdb.DuckDBPyConnection, catalog: Catalog) -> dict[str, str]:
    """Create a user's own views, after `install` has made the others. Returns, by path, why files were refused."""
    refused = {}
    for view in [view for view in catalog.views.values() if view.file is not None]:
        try:
            _create(connection, view.qualified, view.body)
            check_columns(connection, [view])
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


def _comment(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    connection.execute("; ".join(statement for view in views for statement in _comments(view)))


def _comments(view: View) -> Iterator[str]:
    yield f"comment on view {view.qualified} is {quoted(f'{view.summary} {view.rules}'.strip())}"
    # The columns of inner views have their meanings in the SQL files; making thousands of comments takes time.
    for column in view.columns if view.layer == "marts" else ():
        yield f"comment on column {view.qualified}.{column.name} is {quoted(column.meaning)}"


def quoted(text: str) -> str:
    """A SQL string literal, for DDL, which does not allow parameters."""
    return "'" + text.replace("'", "''") + "'"


def _create(connection: duckdb.DuckDBPyConnection, name: str, body: str) -> None:
    try:
        connection.execute(f"create or replace view {name} as {body}")
    except duckdb.OperationalError:  # a failure of the disk, not of the view
        raise
    except duckdb.Error as error:
        raise CatalogError(f"{name}: {error}") from error


def _over_files(types: Mapping[str, str], files: Sequence[Path]) -> str:
    """A select over Parquet partitions by run_id; without files, one that returns no rows of the same types."""
    if not files:
        return "select " + ", ".join(f"null::{kind} as {name}" for name, kind in types.items()) + " where false"
    names = ", ".join(types)
    paths = ", ".join(quoted(str(path)) for path in files)
    return f"select {names} from read_parquet([{paths}], hive_partitioning = true, hive_types = {{'run_id': varchar}})"


def _without_result(view: View, types: Mapping[str, str], runs: Sequence[str]) -> str:
    """A select that fails when its rows are read."""
    several = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    reason = f"{view.qualified} was not computed yet for run {runs[0]}{several}; tracemill sql computes what is missing"
    fields = ", ".join(f"null::{kind} as {name}" for name, kind in types.items())
    return f"select {fields} where error({quoted(reason)})"


def _seed_values(seed: Seed) -> str:
    rows = ", ".join(f"({order}, {', '.join(quoted(value) for value in row)})" for order, row in enumerate(seed.rows))
    columns = ", ".join(seed.columns)
    typed = ", ".join(f"{name}::bigint as {name}" if name.endswith("_bytes") else name for name in seed.columns)
    return f"select rule_order, {typed} from (values {rows}) as seed (rule_order, {columns})"


def _types(connection: duckdb.DuckDBPyConnection, body: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in connection.execute(f"describe {body}").fetchall()}


def _types_of_walk(walk: str) -> dict[str, str]:
    return {"run_id": "VARCHAR"} | {field.name: _DUCKDB_TYPE[field.type] for field in WALKS[walk].schema}


def check_columns(connection: duckdb.DuckDBPyConnection, views: Iterable[View]) -> None:
    """Check every header against the columns that DuckDB has for the view. Raises CatalogError if they differ."""
    returned = _returned(connection)
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


def _returned(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """For each relation of the database, the types of its columns, in order."""
    found: dict[str, dict[str, str]] = {}
    for schema, name, column, kind in connection.execute(
        "select schema_name, table_name, column_name, data_type from duckdb_columns()"
        " order by schema_name, table_name, column_index"
    ).fetchall():
        found.setdefault(f"{schema}.{name}", {})[column] = kind
    return found
