"""SQLite files, opened so that nothing in them runs and nothing beside them is written; rows are streamed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import InputError

MAGIC = b"SQLite format 3\0"
ROWS = 10_000
Rows = Iterator[list[dict[str, Any]]]
# What a file may cost while it is sorted or joined, in pages of its own size.
_CACHE_KIBIBYTES = 65_536


class SqliteFile:
    """A database of a profiler. `tables` has the columns of each table; rows come as dicts, in batches."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        names = self._all("select name from sqlite_master where type = 'table'")
        self.tables = {
            row["name"]: {column["name"] for column in self._all("select name from pragma_table_info(?)", row["name"])}
            for row in names
        }

    def rows(self, tables: str, query: str) -> Rows:
        """Rows of a query, some thousands at a time; none where the database has not all the tables that it needs.

        Raises InputError where the file is damaged.
        """
        if not set(tables.split()) <= set(self.tables):
            return
        try:
            cursor = self._connection.execute(query)
            names = [column[0] for column in cursor.description]
            while batch := cursor.fetchmany(ROWS):
                yield [dict(zip(names, row, strict=True)) for row in batch]
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def column(self, table: str, *spellings: str) -> str:
        """The first of the spellings that the table has, as `table.column`; `null` where it has none of them."""
        found = next((name for name in spellings if name in self.tables.get(table, ())), None)
        return f"{table}.{found}" if found else "null"

    def _all(self, query: str, *parameters: str) -> list[dict[str, Any]]:
        try:
            cursor = self._connection.execute(query, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _damaged(self, error: sqlite3.Error) -> InputError:
        return InputError(f"{self.path}: the database is damaged ({error}); export it again, or use --prefer text")


@contextlib.contextmanager
def open_sqlite(path: Path) -> Iterator[SqliteFile]:
    """The database of a file, read-only. Raises InputError where it is none."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be opened: {error}") from error
    try:
        connection.text_factory = lambda value: value.decode("utf-8", "replace")
        for setting in ("trusted_schema = off", "query_only = on", f"cache_size = -{_CACHE_KIBIBYTES}"):
            connection.execute(f"pragma {setting}")
        yield SqliteFile(path, connection)
    except sqlite3.Error as error:
        raise InputError(f"{path}: not a database ({error}); export the profile again, or use --prefer text") from error
    finally:
        connection.close()
