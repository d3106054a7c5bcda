"""The bulk lane: chunks of the event array through DuckDB's JSON reader, so that Python touches no event.

It must give the rows of the reference reader (`formats.kineto`), event for event. What it cannot read the same way it
refuses, and the reference reads that stretch.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.extract.eventarray import InvalidChunk
from pipeline.schema import EVENT_ARGUMENTS, RAW_TABLES

_EVENT = RAW_TABLES["event"]
_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  (private files below a folder made by tempfile)
# Microseconds with three decimals: the unscaled integer is nanoseconds, and 21 digits hold any int64 of them.
_TIME = "decimal(21, 3)"
_FIELDS = {"ph": "phase", "cat": "category", "name": "name", "pid": "pid", "tid": "tid", "id": "flow_id"}
_KEYS = [(column, kind, key) for column, (kind, keys) in EVENT_ARGUMENTS.items() for key in keys]
# yyjson accepts these where JSON has no numbers; the reference makes them null and counts them.
_NON_FINITE = ("NaN", "Infinity")


class BulkReader:
    """Parses chunks in a DuckDB database of its own; `parse` may be called from several threads."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._connection = duckdb.connect(config={"threads": threads, "python_enable_replacements": "false"})
        self._query = _query()

    def parse(self, body: bytes) -> pa.RecordBatch:
        """Rows of `raw.event` of an array body, `event_index` counted from 0. Raises InvalidChunk."""
        path = self._folder / f"{next(self._numbers)}.json"
        with path.open("wb") as file:
            file.writelines((b"[", body, b"]"))
        try:
            with self._connection.cursor() as cursor:
                rows = cursor.sql(self._query, params={"path": str(path), "limit": len(body) + 2}).to_arrow_table()
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise InvalidChunk from error
        finally:
            path.unlink()
        return _finished(rows)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


@contextlib.contextmanager
def bulk_reader(threads: int) -> Iterator[BulkReader]:
    """A reader whose files are in memory where the system has a folder for that."""
    parent = _MEMORY_FOLDER if _MEMORY_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="tracemill-", dir=parent) as folder:
        reader = BulkReader(Path(folder), threads)
        try:
            yield reader
        finally:
            reader.close()


def _query() -> str:
    """The select over one chunk: args once as JSON, once as the list of the keys that have columns."""
    types = ", ".join(f"{field}: 'varchar'" for field in _FIELDS) + f", ts: '{_TIME}', dur: '{_TIME}', args: 'json'"
    paths = ", ".join(f"""'$."{key}"'""" for _, _, key in _KEYS)
    return f"""
        select row_number() over () - 1 as event_index, {", ".join(f'"{a}" as {b}' for a, b in _FIELDS.items())},
            ts as start_ns, dur as duration_ns, {", ".join(map(_argument, EVENT_ARGUMENTS))}, args
        from (
            select *, case when json_type(args) = 'OBJECT' then json_extract_string(args, [{paths}]) end as found
            from read_json($path, format = 'array', columns = {{{types}}}, maximum_object_size = $limit)
        )"""


def _argument(column: str) -> str:
    places = [place for place, (name, _, _) in enumerate(_KEYS, 1) if name == column]
    is_text = EVENT_ARGUMENTS[column][0] == pa.string()
    values = [f"found[{place}]" if is_text else f"try_cast(found[{place}] as bigint)" for place in places]
    return f"coalesce({', '.join(values)}) as {column}" if len(values) > 1 else f"{values[0]} as {column}"


def _finished(rows: pa.Table) -> pa.RecordBatch:
    """The batch in the table's schema. Raises InvalidChunk where a value is not what the reference would give."""
    columns = []
    for field in _EVENT:
        column = rows.column(field.name).combine_chunks()
        if pa.types.is_decimal(column.type):
            column = _unscaled(column)
        columns.append(column.cast(field.type))
    args = columns[_EVENT.get_field_index("args")]
    if any(pc.any(pc.match_substring(args, word)).as_py() for word in _NON_FINITE):
        raise InvalidChunk
    return pa.RecordBatch.from_arrays(columns, schema=_EVENT)


def _unscaled(column: pa.Array) -> pa.Array:
    """The integers of a decimal column without their scale: the low words, where the high ones only extend the sign."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    _, data = column.buffers()
    start = column.offset
    words = pa.Array.from_buffers(pa.int64(), 2 * (start + len(column)), [None, data])
    pairs = pa.FixedSizeListArray.from_arrays(words, 2)[start:]
    low, high = pc.list_element(pairs, 0), pc.list_element(pairs, 1)
    valid = column.is_valid()
    fits = pc.equal(high, pc.if_else(pc.less(low, 0), -1, 0))
    return pc.if_else(pc.and_(valid, fits), low, pa.scalar(None, pa.int64()))
