"""Events of an Ascend database: calls of the host, tasks and collectives of the device, and the flows between them.

They are on the tracks, named by process and thread, that the text export has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pipeline.extract.ascend.columns import whole
from pipeline.extract.ascend.sqlitefile import Rows, SqliteFile

_NONE = 4294967295
_PLANES = 100_000  # room for the planes of a group in the numbers of threads
_CATEGORIES = {50001: "cpu_op", 50003: "python_function", 50004: "mstx"}
_QUEUE = 50002


def event_rows(database: SqliteFile) -> Rows:
    """Rows of raw.event, but for their index."""
    for events in (_host_calls, _steps, _flows, _launches, _cann_calls, _tasks, _collectives, _collective_tasks):
        yield from events(database)


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
    for rows in database.rows("PYTORCH_API STRING_IDS CONNECTION_IDS", query):
        events = []
        for row in rows:
            category, correlation = _CATEGORIES.get(row["type"]), None
            if row["type"] == _QUEUE:
                category = "enqueue" if row["name"] == "Enqueue" else "dequeue"
                correlation = row["connection"]
            known = {key: row[key] for key in kept}
            events.append(_complete(row, category, **_thread(row), correlation=correlation, **known))
        yield events


def _steps(database: SqliteFile) -> Rows:
    """Steps from their own table; markers among the calls, where there are any, say the same."""
    query = "select 'ProfilerStep#' || id as name, startNs as start_ns, endNs as end_ns from STEP_TIME"
    for rows in database.rows("STEP_TIME", query):
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
        for rows in database.rows("PYTORCH_API CONNECTION_IDS TASK", query):
            yield [
                _flow_start(row, category, "f" if category == "fwdbwd" and row["place"] == 2 else "s") for row in rows
            ]


def _launches(database: SqliteFile) -> Rows:
    """Flows to tasks that no operator has a connection with, copies above all: they have those of CANN's calls.

    Such a flow starts at the operator that enqueued the call, where a dequeue is open around it; else at the call.
    """
    launched = " union ".join(
        f"select connectionId from {table}" for table in ("TASK", "COMMUNICATION_OP") if table in database.tables
    )
    framework = {"PYTORCH_API", "CONNECTION_IDS", "STRING_IDS"} <= set(database.tables)
    queue = f"""
        select cast(startNs as integer) as start_ns, cast(endNs as integer) as end_ns, globalTid as thread,
            connection.connectionId as connection, name.value = 'Enqueue' as is_enqueue
        from PYTORCH_API
        inner join CONNECTION_IDS as connection on connection.id = PYTORCH_API.connectionId
        left join STRING_IDS as name on name.id = PYTORCH_API.name
        where type = {_QUEUE}"""
    nothing = "select null as start_ns, null as end_ns, null as thread, null as connection, 0 as is_enqueue where 0"
    known = """
        select connection.connectionId from CONNECTION_IDS as connection
        inner join PYTORCH_API on PYTORCH_API.connectionId = connection.id and type = 50001"""
    query = f"""
        with queue as ({queue if framework else nothing}),
        call as (
            select connectionId as connection, min(startNs) as start_ns, globalTid as thread
            from CANN_API
            where connectionId in ({launched}) {f"and connectionId not in ({known})" if framework else ""}
            group by connectionId
        ),
        placed as (
            select thread, start_ns, connection,
                max(case when connection is null then start_ns end)
                    over (partition by thread order by start_ns, connection is not null) as dequeued_ns
            from (
                select thread, start_ns, connection from call
                union all
                select thread, start_ns, null from queue where not is_enqueue
            )
        )
        select placed.connection, coalesce(enqueue.start_ns, placed.start_ns) as start_ns,
            coalesce(enqueue.thread, placed.thread) as thread
        from placed
        left join queue as dequeue on dequeue.thread = placed.thread and dequeue.start_ns = placed.dequeued_ns
            and not dequeue.is_enqueue and placed.start_ns < dequeue.end_ns
        left join queue as enqueue on enqueue.connection = dequeue.connection and enqueue.is_enqueue
        where placed.connection is not null"""
    for rows in database.rows("CANN_API TASK", query):
        yield [_flow_start(row, "async_npu", "s") for row in rows]


def _flow_start(row: dict[str, Any], category: str, phase: str) -> dict[str, Any]:
    return {
        "phase": phase,
        "category": category,
        "name": category,
        "flow_id": str(row["connection"]),
        "start_ns": whole(row["start_ns"]),
        **_thread(row),
    }


def _cann_calls(database: SqliteFile) -> Rows:
    query = """
        select startNs as start_ns, endNs as end_ns, globalTid as thread, STRING_IDS.value as name, level.name as level
        from CANN_API
        left join STRING_IDS on STRING_IDS.id = CANN_API.name
        left join ENUM_API_TYPE as level on level.id = CANN_API.type"""
    for rows in database.rows("CANN_API STRING_IDS ENUM_API_TYPE", query):
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
    for rows in database.rows("TASK STRING_IDS", query):
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
    for rows in database.rows("COMMUNICATION_OP STRING_IDS ENUM_HCCL_DATA_TYPE", query):
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
    kept = ("src rank", "dst rank", "size(Byte)", "transport type", "link type")
    for rows in database.rows(needed, query):
        threads = {(row["place"], row["plane"]) for row in rows}
        events = [
            _named_thread("HCCL", str(place * _PLANES + 1 + plane), f"Plane {plane}")
            for place, plane in sorted(threads)
        ]
        for row in rows:
            tid = str(row["place"] * _PLANES + 1 + row["plane"])
            events.append(_complete(row, pid="HCCL", tid=tid, args=json.dumps({key: row[key] for key in kept})))
        yield events
