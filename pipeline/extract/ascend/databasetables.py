"""Tables of an Ascend database that say what the CSVs and JSON files of the text export do, and their layouts."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.extract.ascend.columns import From, Layout, megabytes, microseconds, milliseconds, shapes, text, whole
from pipeline.extract.ascend.sqlitefile import Rows, SqliteFile

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


def table_rows(database: SqliteFile) -> Iterator[tuple[Layout, Rows]]:
    """Rows of each table, with the layout that makes them rows of a raw table."""
    yield KERNELS, _kernels(database)
    for layout, table in ((ALLOCATIONS, "OP_MEMORY"), (SAMPLES, "MEMORY_RECORD")):
        name = "name" if table == "OP_MEMORY" else "component"
        wanted = [column for column in _names(layout) if column != name]
        columns = ", ".join(f"{database.column(table, column)} as {column}" for column in wanted)
        query = f"""
            select STRING_IDS.value as {name}, {columns}
            from {table} left join STRING_IDS on STRING_IDS.id = {table}.{name}"""
        yield layout, database.rows(f"{table} STRING_IDS", query)
    yield STEPS, database.rows("StepTraceTime", "select * from StepTraceTime")
    yield COLLECTIVES, database.rows("CommAnalyzerTime", "select * from CommAnalyzerTime")
    # One row a package size repeats the transport; msprof's own has no steps.
    names = ("hccl_op_name", "group_name", "transport_type", "transit_size", "transit_time", "step", "type")
    columns = ", ".join(f"{database.column('CommAnalyzerBandwidth', name)} as {name}" for name in names)
    transports = f"select distinct {columns} from CommAnalyzerBandwidth"
    yield TRANSPORTS, database.rows("CommAnalyzerBandwidth", transports)
    yield LINKS, database.rows("CommAnalyzerMatrix", "select * from CommAnalyzerMatrix")


def _names(layout: Layout) -> list[str]:
    """Columns of a database that a layout takes."""
    return [source.spellings[0] for source in layout.columns.values() if isinstance(source, From)]


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
    return database.rows("TASK COMPUTE_TASK_INFO STRING_IDS", query)
