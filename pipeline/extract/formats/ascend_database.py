"""Databases of Ascend profilers: `ascend_pytorch_profiler_*.db`, `ascend_mindspore_profiler_*.db`, `msmonitor_*.db`,
`msprof_*.db` and `analysis.db`.

Their rows become what the text export has: events on tracks named by process and thread, flows between them, and rows
of the CSVs. So nothing behind the extractor knows which of the two a run came from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.columns import From, Layout, microseconds, milliseconds, shapes, text, whole
from pipeline.extract.formats.communication import megabytes
from pipeline.extract.report import Report
from pipeline.extract.sqlitefile import MAGIC, SqliteFile, open_sqlite
from pipeline.schema import RAW_TABLES

NAME = "ascend_database"
_NONE = 4294967295
_PLANES = 100_000  # room for the planes of a group in the numbers of threads
_CATEGORIES = {50001: "cpu_op", 50003: "python_function", 50004: "mstx"}
_QUEUE = 50002
Rows = Iterator[list[dict[str, Any]]]
Batches = Iterator[tuple[str, pa.RecordBatch]]

KERNELS = Layout(
    "kernel_detail",
    {
        "device": From(whole, "device"),
        "stream": From(whole, "stream"),
        "task_id": From(whole, "task"),
        "kernel_name": From(text, "name"),
        # At Level0 this is the text N/A for every kernel; it stays as recorded.
        "kernel_type": From(lambda value: value, "type"),
        "accelerator_core": From(text, "core"),
        "start_ns": From(whole, "start_ns"),
        "duration_ns": From(whole, "duration_ns"),
        "block_count": From(whole, "blocks"),
        "input_shapes": From(shapes, "input_shapes"),
        "input_types": From(text, "input_types"),
        "input_formats": From(text, "input_formats"),
        "output_shapes": From(shapes, "output_shapes"),
        "output_types": From(text, "output_types"),
        "output_formats": From(text, "output_formats"),
        "core_ns": From(whole, "core_ns"),
        "matrix_ns": From(whole, "matrix_ns"),
        "vector_ns": From(whole, "vector_ns"),
    },
)
ALLOCATIONS = Layout(
    "allocation",
    {
        "operator_name": From(text, "name"),
        "bytes": From(whole, "size"),
        "allocated_at_ns": From(whole, "allocationTime"),
        "released_at_ns": From(whole, "releaseTime"),
        "held_ns": From(whole, "duration"),
        "total_allocated": From(whole, "allocationTotalAllocated"),
        "total_reserved": From(whole, "allocationTotalReserved"),
        "stream": From(whole, "streamPtr"),
        "device": From(whole, "deviceId"),
    },
)
SAMPLES = Layout(
    "memory_sample",
    {
        "component": From(text, "component"),
        "time_ns": From(whole, "timestamp"),
        "total_allocated": From(whole, "totalAllocated"),
        "total_reserved": From(whole, "totalReserved"),
        "device": From(whole, "deviceId"),
    },
)
STEPS = Layout(
    "statistic",
    {"step": From(whole, "step"), "total_ns": From(microseconds, "stage")},
    {"source": "step_trace_time"},
)
_NAMES = {
    "step": From(lambda value: (value or "").removeprefix("step") or None, "step"),
    "kind": From(text, "type"),
    "name": From(text, "hccl_op_name"),
    "process_group": From(text, "group_name"),
}
_TRANSFER = {
    "transport": From(text, "transport_type"),
    "bytes": From(megabytes, "transit_size"),
    "transit_ns": From(milliseconds, "transit_time"),
}
COLLECTIVES = Layout(
    "communication",
    _NAMES
    | {
        "start_ns": From(microseconds, "start_timestamp"),
        "elapsed_ns": From(milliseconds, "elapse_time"),
        "transit_ns": From(milliseconds, "transit_time"),
        "wait_ns": From(milliseconds, "wait_time"),
        "synchronization_ns": From(milliseconds, "synchronization_time"),
        "idle_ns": From(milliseconds, "idle_time"),
    },
    {"source": "communication"},
)
TRANSPORTS = Layout("communication", _NAMES | _TRANSFER, {"source": "bandwidth"})
LINKS = Layout(
    "communication",
    _NAMES | _TRANSFER | {"source_rank": From(whole, "src_rank"), "target_rank": From(whole, "dst_rank")},
    {"source": "matrix"},
)


def detect(head: bytes) -> bool:
    """Is it a SQLite database?"""
    return head.startswith(MAGIC)


def extract(path: Path, report: Report, progress: Callable[[int], None] | None = None) -> Batches:
    """Yield (raw table, batch) of a database. Raises InputError where it is damaged, or none of a profiler."""
    stream = ByteStream(path, progress)
    for _ in stream.blocks():  # for its hash; SQLite reads the file by itself
        pass
    report.read(stream.size, stream.content_hash)
    with open_sqlite(path) as database:
        if not {"TASK", "PYTORCH_API", "CANN_API", "StepTraceTime", "CommAnalyzerTime"} & set(database.tables):
            raise InputError(f"{path}: a database without tables of an Ascend profiler; name another file")
        try:
            yield from _batches(database, report)
        except (TypeError, ValueError, OverflowError) as error:  # SQLite lets any value into any column
            raise InputError(f"{path}: a value is not of the kind of its column ({error}); export it again") from error


def _batches(database: SqliteFile, report: Report) -> Batches:
    _about(database, report)
    for table, rows in _tables(database):
        yield table, _numbered(table, rows, report)
    for layout, batches in _layouts(database):
        for rows in batches:
            values = list(zip(*(row.values() for row in rows), strict=True))
            yield layout.table, layout.batch(list(rows[0]), values, report.event_count)
            report.event_count += len(rows)
    yield "trace_metadata", _metadata(database)


def _numbered(table: str, rows: list[dict[str, Any]], report: Report) -> pa.RecordBatch:
    for index, row in enumerate(rows, report.event_count):
        row["event_index"] = index
    report.event_count += len(rows)
    return pa.RecordBatch.from_pylist(rows, schema=RAW_TABLES[table])


def _about(database: SqliteFile, report: Report) -> None:
    for rows in _select(database, "RANK_DEVICE_MAP", "select min(rankId) as rank from RANK_DEVICE_MAP"):
        report.rank = rows[0]["rank"] if report.rank is None else report.rank
    for rows in _select(database, "NPU_INFO", "select distinct name from NPU_INFO order by id"):
        report.device_name = ", ".join(str(row["name"]) for row in rows)


def _metadata(database: SqliteFile) -> pa.RecordBatch:
    rows = [row for rows in _select(database, "META_DATA", "select name, value from META_DATA") for row in rows]
    columns = {"key": [row["name"] for row in rows], "value": [_as_json(row["value"]) for row in rows]}
    return pa.RecordBatch.from_pydict(columns, schema=RAW_TABLES["trace_metadata"])


def _as_json(value: Any) -> str:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _select(database: SqliteFile, tables: str, query: str) -> Rows:
    """Rows of a query where the database has all the tables that it needs."""
    if set(tables.split()) <= set(database.tables):
        yield from database.rows(query)


# -- events ---------------------------------------------------------------------------------------------


def _tables(database: SqliteFile) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows of raw.event: the calls of the host, the tasks of the device, and the flows between them."""
    for events in (_host_calls, _steps, _flows, _cann_calls, _tasks, _collectives, _collective_tasks):
        for rows in events(database):
            yield "event", rows


def _thread(row: dict[str, Any]) -> dict[str, str]:
    number = int(row["thread"] or 0)
    return {"pid": str(number >> 32), "tid": str(number & 0xFFFFFFFF)}


def _complete(row: dict[str, Any], category: str | None = None, **columns: Any) -> dict[str, Any]:
    start, end = whole(row["start_ns"]), whole(row["end_ns"])
    duration = end - start if start is not None and end is not None else None
    event = {"phase": "X", "category": category, "name": row["name"], "start_ns": start, "duration_ns": duration}
    return event | columns


def _host_calls(database: SqliteFile) -> Rows:
    query = """
        select PYTORCH_API.startNs as start_ns, PYTORCH_API.endNs as end_ns, globalTid as thread, type,
            name.value as name, sequenceNumber as sequence_number, fwdThreadId as forward_thread,
            shapes.value as input_shapes, types.value as input_types,
            (select connectionId from CONNECTION_IDS where id = PYTORCH_API.connectionId) as connection
        from PYTORCH_API
        left join STRING_IDS as name on name.id = PYTORCH_API.name
        left join STRING_IDS as shapes on shapes.id = PYTORCH_API.inputShapes
        left join STRING_IDS as types on types.id = PYTORCH_API.inputDtypes"""
    kept = ("sequence_number", "forward_thread", "input_shapes", "input_types")
    for rows in _select(database, "PYTORCH_API STRING_IDS CONNECTION_IDS", query):
        events = []
        for row in rows:
            category, args = _CATEGORIES.get(row["type"]), None
            if row["type"] == _QUEUE:
                category = "enqueue" if row["name"] == "Enqueue" else "dequeue"
                args = json.dumps({"correlation_id": row["connection"]})
            events.append(_complete(row, category, **_thread(row), args=args) | {key: row[key] for key in kept})
        yield events


def _steps(database: SqliteFile) -> Rows:
    """Steps from their own table; markers among the calls, where there are any, say the same."""
    query = "select 'ProfilerStep#' || id as name, startNs as start_ns, endNs as end_ns from STEP_TIME"
    for rows in _select(database, "STEP_TIME", query):
        yield [_complete(row, "cpu_op", pid="", tid="") for row in rows]


def _flows(database: SqliteFile) -> Rows:
    """From operators to tasks and collectives, and from forward operators to backward ones, by connection ids."""
    launched = " union ".join(
        f"select connectionId from {table}" for table in ("TASK", "COMMUNICATION_OP") if table in database.tables
    )
    operators = """
        select connection.connectionId as connection, startNs as start_ns, globalTid as thread,
            row_number() over (partition by connection.connectionId order by startNs) as place,
            count(*) over (partition by connection.connectionId) as size
        from CONNECTION_IDS as connection
        inner join PYTORCH_API on PYTORCH_API.connectionId = connection.id and type = 50001"""
    for category, condition in (
        ("async_npu", f"connection in ({launched})"),
        ("fwdbwd", f"size = 2 and connection not in ({launched})"),
    ):
        query = f"select * from ({operators}) where {condition}"
        for rows in _select(database, "PYTORCH_API CONNECTION_IDS TASK", query):
            yield [
                {
                    "phase": "f" if category == "fwdbwd" and row["place"] == 2 else "s",
                    "category": category,
                    "name": category,
                    "flow_id": str(row["connection"]),
                    "start_ns": whole(row["start_ns"]),
                    **_thread(row),
                }
                for row in rows
            ]


def _cann_calls(database: SqliteFile) -> Rows:
    query = """
        select startNs as start_ns, endNs as end_ns, globalTid as thread, STRING_IDS.value as name, level.name as level
        from CANN_API
        left join STRING_IDS on STRING_IDS.id = CANN_API.name
        left join ENUM_API_TYPE as level on level.id = CANN_API.type"""
    for rows in _select(database, "CANN_API STRING_IDS ENUM_API_TYPE", query):
        tracks = {thread["pid"]: thread["tid"] for thread in map(_thread, rows)}
        yield [
            *(_process(f"CANN {pid}", "CANN") for pid in tracks),
            *(
                _complete(
                    row,
                    pid=f"CANN {_thread(row)['pid']}",
                    tid=_thread(row)["tid"],
                    args=json.dumps({"level": row["level"]}),
                )
                for row in rows
            ),
        ]


def _process(pid: str, name: str) -> dict[str, Any]:
    return {"phase": "M", "name": "process_name", "pid": pid, "tid": "0", "args": json.dumps({"name": name})}


def _named_thread(pid: str, tid: str, name: str) -> dict[str, Any]:
    return {"phase": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": json.dumps({"name": name})}


def _arrival(row: dict[str, Any], pid: str, tid: str) -> Iterator[dict[str, Any]]:
    """The end of the flow to a task or collective."""
    if row["connection"] not in (None, _NONE):
        yield {
            "phase": "f",
            "category": "async_npu",
            "name": "async_npu",
            "flow_id": str(row["connection"]),
            "pid": pid,
            "tid": tid,
            "start_ns": whole(row["start_ns"]),
        }


def _tasks(database: SqliteFile) -> Rows:
    """Tasks of the device, but for those of collectives."""
    compute = "COMPUTE_TASK_INFO" in database.tables
    collective = "COMMUNICATION_TASK_INFO" in database.tables
    copies = "MEMCPY_INFO" in database.tables
    query = f"""
        select TASK.startNs as start_ns, TASK.endNs as end_ns, TASK.deviceId as device, TASK.streamId as stream,
            TASK.connectionId as connection, task_type.value as task_type,
            {"coalesce(info_name.value, task_type.value)" if compute else "task_type.value"} as name,
            {"MEMCPY_INFO.size" if copies else "null"} as bytes
        from TASK
        left join STRING_IDS as task_type on task_type.id = TASK.taskType
        {"left join COMPUTE_TASK_INFO as info on info.globalTaskId = TASK.globalTaskId" if compute else ""}
        {"left join STRING_IDS as info_name on info_name.id = info.name" if compute else ""}
        {"left join MEMCPY_INFO on MEMCPY_INFO.globalTaskId = TASK.globalTaskId" if copies else ""}
        {"where TASK.globalTaskId not in (select globalTaskId from COMMUNICATION_TASK_INFO)" if collective else ""}
    """
    for rows in _select(database, "TASK STRING_IDS", query):
        events = [
            _process(f"Ascend Hardware {device}", "Ascend Hardware") for device in {row["device"] for row in rows}
        ]
        for row in rows:
            pid, tid = f"Ascend Hardware {row['device']}", str(row["stream"])
            track = {"pid": pid, "tid": tid, "device": row["device"], "stream": row["stream"]}
            args = json.dumps({"Task Type": row["task_type"]})
            events += [_complete(row, **track, bytes=row["bytes"], args=args), *_arrival(row, pid, tid)]
        yield events


# Groups get numbers in the order of their names.
_GROUPS = "(select groupName as id, dense_rank() over (order by groupName) - 1 as place from COMMUNICATION_OP)"


def _collectives(database: SqliteFile) -> Rows:
    device = database.column("COMMUNICATION_OP", "deviceId")
    query = f"""
        select startNs as start_ns, endNs as end_ns, connectionId as connection, name.value as name,
            dense_rank() over (order by groupName) - 1 as place, group_name.value as process_group,
            {device} as device, kind.name as data_type, algorithm.value as alg_type, count
        from COMMUNICATION_OP
        left join STRING_IDS as name on name.id = opName
        left join STRING_IDS as group_name on group_name.id = groupName
        left join STRING_IDS as algorithm on algorithm.id = algType
        left join ENUM_HCCL_DATA_TYPE as kind on kind.id = dataType"""
    for rows in _select(database, "COMMUNICATION_OP STRING_IDS ENUM_HCCL_DATA_TYPE", query):
        events = [_process("HCCL", "HCCL")]
        for place, group in sorted({(row["place"], row["process_group"]) for row in rows}):
            events.append(_named_thread("HCCL", str(place * _PLANES), f"Group {group} Communication"))
        for row in rows:
            tid = str(row["place"] * _PLANES)
            args = json.dumps({key: row[key] for key in ("data_type", "alg_type", "count")})
            track = {"pid": "HCCL", "tid": tid, "device": row["device"]}
            events += [_complete(row, **track, args=args), *_arrival(row, "HCCL", tid)]
        yield events


def _collective_tasks(database: SqliteFile) -> Rows:
    query = f"""
        select TASK.startNs as start_ns, TASK.endNs as end_ns, kind.value as name, planeId as plane, groups.place,
            srcRank as "src rank", dstRank as "dst rank", size as "size(Byte)", transport.name as "transport type",
            link.name as "link type"
        from COMMUNICATION_TASK_INFO as part
        inner join TASK on TASK.globalTaskId = part.globalTaskId
        inner join (select distinct id, place from {_GROUPS}) as groups on groups.id = part.groupName
        left join STRING_IDS as kind on kind.id = part.taskType
        left join ENUM_HCCL_TRANSPORT_TYPE as transport on transport.id = part.transportType
        left join ENUM_HCCL_LINK_TYPE as link on link.id = part.linkType
        where kind.value <> 'N/A'"""
    needed = "COMMUNICATION_TASK_INFO COMMUNICATION_OP TASK STRING_IDS ENUM_HCCL_TRANSPORT_TYPE ENUM_HCCL_LINK_TYPE"
    told = ("src rank", "dst rank", "size(Byte)", "transport type", "link type")
    for rows in _select(database, needed, query):
        threads = {(row["place"], row["plane"]) for row in rows}
        events = [
            _named_thread("HCCL", str(place * _PLANES + 1 + plane), f"Plane {plane}")
            for place, plane in sorted(threads)
        ]
        for row in rows:
            tid = str(row["place"] * _PLANES + 1 + row["plane"])
            events.append(_complete(row, pid="HCCL", tid=tid, args=json.dumps({key: row[key] for key in told})))
        yield events


# -- tables ---------------------------------------------------------------------------------------------


def _layouts(database: SqliteFile) -> Iterator[tuple[Layout, Rows]]:
    yield KERNELS, _kernels(database)
    for layout, table in ((ALLOCATIONS, "OP_MEMORY"), (SAMPLES, "MEMORY_RECORD")):
        name = "name" if table == "OP_MEMORY" else "component"
        wanted = [source.spellings[0] for column, source in layout.columns.items() if source.spellings[0] != name]
        columns = ", ".join(f"{database.column(table, column)} as {column}" for column in wanted)
        query = f"""
            select STRING_IDS.value as {name}, {columns}
            from {table} left join STRING_IDS on STRING_IDS.id = {table}.{name}"""
        yield layout, _select(database, f"{table} STRING_IDS", query)
    yield STEPS, _select(database, "StepTraceTime", "select * from StepTraceTime")
    yield COLLECTIVES, _select(database, "CommAnalyzerTime", "select * from CommAnalyzerTime")
    transports = """
        select distinct hccl_op_name, group_name, transport_type, transit_size, transit_time, step, type
        from CommAnalyzerBandwidth"""
    yield TRANSPORTS, _select(database, "CommAnalyzerBandwidth", transports)
    yield LINKS, _select(database, "CommAnalyzerMatrix", "select * from CommAnalyzerMatrix")


def _kernels(database: SqliteFile) -> Rows:
    measured = "TASK_PMU_INFO" in database.tables
    named = {"name": "name", "type": "opType", "core": "taskType"} | {
        f"{side}_{what}": f"{side}{column}"
        for side in ("input", "output")
        for what, column in (("shapes", "Shapes"), ("types", "DataTypes"), ("formats", "Formats"))
    }
    table = "COMPUTE_TASK_INFO"
    joins = "\n".join(
        f"left join STRING_IDS as {key}_text on {key}_text.id = {database.column(table, column)}"
        for key, column in named.items()
    )
    values = ", ".join(f"{key}_text.value as {key}" for key in named)
    metrics = """
        left join (
            select globalTaskId,
                max(case when metric.value in ('aicore_time', 'aic_time') then TASK_PMU_INFO.value end) as core_ns,
                max(case when metric.value in ('aic_mac_time', 'mac_time') then TASK_PMU_INFO.value end) as matrix_ns,
                max(case when metric.value in ('aiv_vec_time', 'vec_time') then TASK_PMU_INFO.value end) as vector_ns
            from TASK_PMU_INFO inner join STRING_IDS as metric on metric.id = TASK_PMU_INFO.name
            group by globalTaskId
        ) as metrics on metrics.globalTaskId = TASK.globalTaskId"""
    query = f"""
        select TASK.deviceId as device, TASK.streamId as stream, TASK.taskId as task, TASK.startNs as start_ns,
            TASK.endNs - TASK.startNs as duration_ns,
            {database.column(table, "blockNum", "blockDim", "block_dim")} as blocks,
            {values}, {"core_ns, matrix_ns, vector_ns" if measured else "null as core_ns"}
        from TASK
        inner join COMPUTE_TASK_INFO on COMPUTE_TASK_INFO.globalTaskId = TASK.globalTaskId
        {joins}
        {metrics if measured else ""}"""
    return _select(database, "TASK COMPUTE_TASK_INFO STRING_IDS", query)
