"""Databases of Ascend profilers: `ascend_pytorch_profiler_*.db`, `ascend_mindspore_profiler_*.db`, `msmonitor_*.db` and
`msprof_*.db`; and of the analysis that CANN writes beside: `analysis.db`, `communication_analyzer.db`.

The tables of a database identify it, not its name.

Their rows become what the text export has: events on tracks named by process and thread, flows between them, and rows
of the CSVs. So nothing after the extractor knows which of the two a run came from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract.ascend.databaseevents import event_rows
from pipeline.extract.ascend.databasetables import table_rows
from pipeline.extract.ascend.sqlitefile import MAGIC, SqliteFile, open_sqlite
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.format import Format, Role
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report
from pipeline.schema import RAW_TABLES

# A database that has none of the first is no profile; with one of the others it is an analysis of one.
_PROFILE_TABLES = frozenset({"TASK", "PYTORCH_API", "CANN_API"})
_ANALYSIS_TABLES = frozenset({"StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"})
Batches = Iterator[tuple[str, pa.RecordBatch]]


def detect(head: bytes) -> bool:
    """Is it a SQLite database?"""
    return head.startswith(MAGIC)


def look(path: Path) -> Role | None:
    """Is a database a run, CANN's analysis of one, or of something else? Raises InputError where it is damaged."""
    with open_sqlite(path) as database:
        tables = set(database.tables)
    return Role.TRACE if _PROFILE_TABLES & tables else Role.PART if _ANALYSIS_TABLES & tables else None


def extract(path: Path, report: Report, means: Means = ALONE) -> Batches:
    """Yield (raw table, batch) of a database. Raises InputError where it is damaged, or not a profiler file."""
    stream = ByteStream(path, means.progress)
    for _ in stream.blocks():  # for its hash; SQLite reads the file by itself
        pass
    report.read(stream.size, stream.content_hash)
    if stream.containers:
        raise InputError(f"{path}: a database in {' in '.join(reversed(stream.containers))}; unpack it")
    with open_sqlite(path) as database:
        if not (_PROFILE_TABLES | _ANALYSIS_TABLES) & set(database.tables):
            raise InputError(f"{path}: a database without tables of an Ascend profiler; name another file")
        try:
            yield from _batches(database, report)
        except (TypeError, ValueError, OverflowError) as error:  # SQLite lets any value into any column
            raise InputError(f"{path}: a value is not of the kind of its column ({error}); export it again") from error


def _batches(database: SqliteFile, report: Report) -> Batches:
    _about(database, report)
    for rows in event_rows(database):
        yield "event", _numbered(rows, report)
    for layout, batches in table_rows(database):
        for rows in batches:
            values = list(zip(*(row.values() for row in rows), strict=True))
            yield layout.table, layout.batch(list(rows[0]), values, report.next_index)
            report.event_count += len(rows)
    yield "trace_metadata", _metadata(database)


def _numbered(rows: list[dict[str, Any]], report: Report) -> pa.RecordBatch:
    for index, row in enumerate(rows, report.next_index):
        row["event_index"] = index
    report.event_count += len(rows)
    return pa.RecordBatch.from_pylist(rows, schema=RAW_TABLES["event"])


def _about(database: SqliteFile, report: Report) -> None:
    for rows in database.rows("RANK_DEVICE_MAP", "select min(rankId) as rank from RANK_DEVICE_MAP"):
        report.rank = rows[0]["rank"] if report.rank is None else report.rank
    for rows in database.rows("NPU_INFO", "select distinct name from NPU_INFO order by id"):
        report.device_name = ", ".join(str(row["name"]) for row in rows)


def _metadata(database: SqliteFile) -> pa.RecordBatch:
    rows = [row for rows in database.rows("META_DATA", "select name, value from META_DATA") for row in rows]
    columns = {"key": [row["name"] for row in rows], "value": [_as_json(row["value"]) for row in rows]}
    return pa.RecordBatch.from_pydict(columns, schema=RAW_TABLES["trace_metadata"])


def _as_json(value: Any) -> str:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


FORMAT: Format = Format(
    name="ascend_database",
    role=Role.TRACE,
    suffix=".db",
    detect=detect,
    extract=extract,
    may_be_packed=False,  # SQLite opens the file itself
    profile_names=r"(?:ascend_\w+_profiler|msprof|msmonitor|analysis|communication_analyzer)[-_\d]*\.db",
    look=look,
)
