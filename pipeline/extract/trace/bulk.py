"""The bulk lane: DuckDB's JSON reader parses chunks of the event array, so that Python touches no event.

It must give the same rows as the reference reader (`kineto.reference`), event for event. It refuses a chunk that it
would read differently, and the reference reads that one.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import OutputError, write_failure
from pipeline.extract.trace.eventarray import InvalidChunk
from pipeline.schema import EVENT_ARGUMENTS, ID_ARGUMENTS, RAW_TABLES

_EVENT = RAW_TABLES["event"]
_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  (private files below a folder made by tempfile)
# Microseconds with three decimals: the unscaled integer is nanoseconds, and 21 digits hold any int64 of them.
_TIME = "decimal(21, 3)"
# An id of 64 bits as a signed number, even if it was written as an unsigned one; NULL for any other number.
_SIGNED = (
    f"try_cast(case when {{0}} between {1 << 63} and {(1 << 64) - 1} then {{0}} - {1 << 64} else {{0}} end as bigint)"
)
_FIELDS = {"ph": "phase", "cat": "category", "name": "name", "pid": "pid", "tid": "tid", "id": "flow_id"}
# Keys of args in order of preference, each with its column. They need several structs, since the names of a struct's
# fields must differ in more than case. Other spellings are only looked for in args that contain one of them.
_SPELLINGS = [
    {keys[rank]: column for column, (_, keys) in EVENT_ARGUMENTS.items() if len(keys) > rank}
    for rank in range(max(len(keys) for _, keys in EVENT_ARGUMENTS.values()))
]


class BulkReader:
    """Parses chunks in its own DuckDB database; `parse` may be called from several threads."""

    def __init__(self, folder: Path, threads: int) -> None:
        # One file per thread, which is overwritten: new memory for each chunk would cost three times as much as a copy.
        self._files: SimpleQueue[Path] = SimpleQueue()
        for number in range(threads):
            path = folder / f"{number}.json"
            path.touch()
            self._files.put(path)
        # No cache of files: DuckDB would take a chunk for the previous one in the same file.
        config = {"python_enable_replacements": "false", "enable_external_file_cache": "false"}
        self._connection = duckdb.connect(config={"threads": threads, **config})
        self._query = _query()

    def parse(self, body: bytes) -> pa.Table:
        """Rows of `raw.event` from an array body, `event_index` counted from 0. Raises InvalidChunk."""
        path = self._files.get()
        try:
            with path.open("r+b") as file:
                file.writelines((b"[", body, b"]"))
                file.truncate()
            with self._connection.cursor() as cursor:
                rows = cursor.sql(self._query, params={"path": str(path), "limit": len(body) + 2}).to_arrow_table()
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise InvalidChunk from error
        except OSError as error:
            raise OutputError(write_failure(path.parent, error)) from error
        finally:
            self._files.put(path)
        return _finished(rows)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


@contextlib.contextmanager
def bulk_reader(threads: int) -> Iterator[BulkReader]:
    """A reader whose files are in memory, if the system has a folder for that."""
    parent = _MEMORY_FOLDER if _MEMORY_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="tracemill-", dir=parent) as folder:
        reader = BulkReader(Path(folder), threads)
        try:
            yield reader
        finally:
            reader.close()


# How C and Python begin numbers that are not finite. Words may contain these too; a slower pattern then decides.
_NOT_FINITE = ("nan", "inf", "NaN", "Inf", "NAN", "INF")


def _query() -> str:
    """The SELECT over one chunk: args as JSON text, and typed values for the keys that have columns."""
    types = ", ".join(f"{field}: 'varchar'" for field in _FIELDS) + f", ts: '{_TIME}', dur: '{_TIME}', args: 'json'"
    found = ", ".join(_found(rank, spellings) for rank, spellings in enumerate(_SPELLINGS))
    return f"""
        select row_number() over () - 1 as event_index, {", ".join(f'"{a}" as {b}' for a, b in _FIELDS.items())},
            ts as start_ns, dur as duration_ns, {", ".join(map(_argument, EVENT_ARGUMENTS))}, args,
            -- yyjson accepts these, which are not JSON; the reference makes them null and counts them.
            ({" or ".join(f"contains(args, '{text}')" for text in _NOT_FINITE)})
            and regexp_matches(args, '[:,\\[]\\s*-?(nan|inf)', 'i')
            -- It also takes `null` for an event without keys.
            or coalesce(ph, cat, name) is null and ts is null and args is null as is_suspect
        from (
            select *, {found}
            from read_json($path, format = 'array', columns = {{{types}}}, maximum_object_size = $limit)
        )"""


def _found(rank: int, spellings: dict[str, str]) -> str:
    """The typed values of args for one spelling of each key."""
    struct = json.dumps({key: _sql_type(column) for key, column in spellings.items()})
    held = " or ".join(f"contains(args, '{key}')" for key in spellings) if rank else "true"
    return f"case when {held} then json_transform(args, '{struct}') end as found_{rank}"


def _argument(column: str) -> str:
    """A typed column: the value of its key's preferred spelling, else of another spelling."""
    keys = EVENT_ARGUMENTS[column][1]
    values = (f'found_{rank}."{key}"' for rank, key in enumerate(keys))
    if column in ID_ARGUMENTS:
        values = (_SIGNED.format(value) for value in values)
    return f"""coalesce({", ".join(values)}) as {column}"""


def _sql_type(column: str) -> str:
    if column in ID_ARGUMENTS:
        return "hugeint"
    return "varchar" if EVENT_ARGUMENTS[column][0] == pa.string() else "bigint"


def _finished(rows: pa.Table) -> pa.Table:
    """The rows in the table's schema. Raises InvalidChunk if the reference might read a value differently."""
    if pc.any(rows.column("is_suspect")).as_py():
        raise InvalidChunk
    columns = [
        pa.chunked_array([_unscaled(chunk) for chunk in column.chunks], pa.int64())
        if pa.types.is_decimal(column.type)
        else column.cast(field.type)
        for field, column in ((field, rows.column(field.name)) for field in _EVENT)
    ]
    return pa.Table.from_arrays(columns, schema=_EVENT)


def _unscaled(column: pa.Array) -> pa.Array:
    """The unscaled integers of a decimal column; NULL if they do not fit into 64 bits."""
    words = pa.Array.from_buffers(pa.int64(), 2 * (column.offset + len(column)), [None, column.buffers()[1]])
    pairs = pa.FixedSizeListArray.from_arrays(words, 2)[column.offset :]
    low, high = pc.list_element(pairs, 0), pc.list_element(pairs, 1)
    extends_sign = pc.equal(high, pc.if_else(pc.less(low, 0), -1, 0))
    return pc.if_else(pc.and_(column.is_valid(), extends_sign), low, pa.scalar(None, pa.int64()))
