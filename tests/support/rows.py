"""Rows in, rows out: the catalog's views over a few events written in the test, in memory.

    house = views(v1=[op("aten::mm", 1000, 30), launch("cudaLaunchKernel", 1010, 4, correlation=9)], v2=[...])
    assert house.rows("select operator_name, call_count from marts.operator where step is null") == [...]

Each keyword is a run, each list its events in file order (`event_index` counts from 0; lists in the list are opened).
Times are plain nanoseconds, `start` and `duration`. A view is computed when a query names it, as a table, after all
that it reads: the nested views are never bound as a whole, which would cost seconds a test.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import weakref
from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.alignment.function import install_alignment
from pipeline.catalog.catalog import Catalog
from pipeline.catalog.comparison import macro_of_steps
from pipeline.catalog.header import View
from pipeline.catalog.install import _seed_values
from pipeline.schema import RAW_TABLES
from pipeline.walk import WALKS

Row = tuple[str, dict[str, Any]]
Nanoseconds = int | None  # None where the profiler wrote nothing
_VIEW = re.compile(r"\b(?:staging|intermediate|marts)\.[a-z_]+")
_OF_STEPS = "_of_steps"
_NUMBERS = itertools.count()
HOST = "4242"


# -- events ---------------------------------------------------------------------------------------------


def event(category: str | None, name: str | None, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """Any complete event; `args` is a dict. The other helpers are this one with the category filled in."""
    args = columns.pop("args", None)
    return "event", {
        "phase": "X",
        "category": category,
        "name": name,
        "pid": HOST,
        "tid": "1",
        "start_ns": start,
        "duration_ns": duration,
        "args": None if args is None else json.dumps(args),
    } | {column: str(value) if column in ("pid", "tid") else value for column, value in columns.items()}


def op(name: str | None, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """A framework operator; tid=, external_id=, input_shapes=, forward_thread=, sequence_number=."""
    return event("cpu_op", name, start, duration, **columns)


def annotation(name: str, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """A user annotation on the host."""
    return event("user_annotation", name, start, duration, **columns)


def launch(name: str, start: Nanoseconds, duration: Nanoseconds, correlation: int | None = None, **columns: Any) -> Row:
    """A runtime call, be it a launch or not."""
    return event("cuda_runtime", name, start, duration, correlation=correlation, **columns)


def step(number: int, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """A step marker on the host."""
    return annotation(f"ProfilerStep#{number}", start, duration, **columns)


def gpu_annotation(
    name: str, start: Nanoseconds, duration: Nanoseconds, device: int = 0, stream: int = 7, **columns: Any
) -> Row:
    """The copy of an annotation on a device track."""
    return event("gpu_user_annotation", name, start, duration, pid=device, tid=stream, **columns)


def gpu_step(number: int, start: Nanoseconds, duration: Nanoseconds, device: int = 0, **columns: Any) -> Row:
    """The copy of a step marker on a device track."""
    return gpu_annotation(f"ProfilerStep#{number}", start, duration, device, **columns)


def on_device(
    category: str,
    name: str | None,
    start: Nanoseconds,
    duration: Nanoseconds,
    stream: int | None,
    device: int | None,
    **columns: Any,
) -> Row:
    """An event on a device track; args=None for one without any arguments."""
    track = {"pid": device, "tid": stream, "device": device, "stream": stream, "args": {}}
    return event(category, name, start, duration, **(track | columns))


def kernel(
    name: str | None,
    start: Nanoseconds,
    duration: Nanoseconds,
    stream: int | None = 7,
    device: int | None = 0,
    **columns: Any,
) -> Row:
    """A kernel; correlation=, external_id=, args=."""
    return on_device("kernel", name, start, duration, stream, device, **columns)


def memcpy(
    start: Nanoseconds, duration: Nanoseconds, stream: int | None = 7, device: int | None = 0, **columns: Any
) -> Row:
    """A memory copy; bytes=."""
    return on_device("gpu_memcpy", columns.pop("name", "Memcpy HtoD"), start, duration, stream, device, **columns)


def memset(
    start: Nanoseconds, duration: Nanoseconds, stream: int | None = 7, device: int | None = 0, **columns: Any
) -> Row:
    """A memory set; bytes=."""
    return on_device("gpu_memset", "Memset (Device)", start, duration, stream, device, **columns)


def sync(
    name: str, start: Nanoseconds, duration: Nanoseconds, stream: int | None = 7, device: int | None = 0, **columns: Any
) -> Row:
    """A synchronisation record of a device track."""
    return on_device("cuda_sync", name, start, duration, stream, device, **columns)


def collective(
    name: str,
    start: Nanoseconds,
    duration: Nanoseconds,
    *,
    kernel_name: str = "ncclDevKernel",
    stream: int = 20,
    device: int = 0,
    group: str | None = "tp",
    size: int | None = 8,
    dtype: str | None = "Float",
    sent: int | None = None,
    received: int | None = None,
    seq: int | None = None,
    **columns: Any,
) -> Row:
    """A collective kernel with its metadata; `sent` and `received` are elements."""
    known = {
        "Collective name": name,
        "Process Group Name": group,
        "Group size": size,
        "dtype": dtype,
        "In msg nelems": sent,
        "Out msg nelems": received,
        "Seq": seq,
    }
    args = {key: value for key, value in known.items() if value is not None}
    return kernel(kernel_name, start, duration, stream, device, args=args, **columns)


def python(
    name: str, start: Nanoseconds, duration: Nanoseconds, number: int | None, caller: int | None = None, **columns: Any
) -> Row:
    """A Python function with its number and its caller's; `nn.Module: Linear_0` is a call of a module."""
    ids = {"python_id": number, "python_parent_id": caller}
    return event("python_function", name, start, duration, **(ids | columns))


def memory(size: int | None, at: Nanoseconds, address: int | None = 1, device: int = 0, **columns: Any) -> Row:
    """Bytes allocated (above zero) or freed (below); allocated= and reserved= are the totals after it."""
    totals = {"total_allocated": columns.pop("allocated", None), "total_reserved": columns.pop("reserved", None)}
    known = {"phase": "i", "bytes": size, "address": address, "device": device, "device_type": 1} | totals
    return event("cpu_instant_event", columns.pop("name", "[memory]"), at, None, **(known | columns))


def about(**columns: Any) -> Row:
    """What is known about the run as a whole: label=, rank=, base_time_ns=, …"""
    return "run", columns


def problem(
    kind: str, count: int = 1, event_index: int | None = None, detail: str | None = None, byte_offset: int | None = None
) -> Row:
    """Trouble that was met while reading the run."""
    known = {"event_index": event_index, "byte_offset": byte_offset, "detail": detail}
    return "problem", {"kind": kind, "problem_count": count} | known


# -- Ascend profiles --------------------------------------------------------------------------------------

TRACKS = {
    "hardware": "Ascend Hardware",
    "hccl": "HCCL",
    "overlap": "Overlap Analysis",
    "cann": "CANN",
    "mindspore": "MindSpore",
}


def tracks(groups: tuple[str, ...] = ("0",), planes: int = 2) -> list[Row]:
    """Names of the tracks of an Ascend trace: pids are the keys of TRACKS; a group has tids from place * 10."""
    named = [
        (
            "thread_name",
            "hccl",
            place * 10 + number,
            f"Plane {number - 1}" if number else f"Group {group} Communication",
        )
        for place, group in enumerate(groups)
        for number in range(planes + 1)
    ]
    kinds = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")
    named += [("thread_name", "overlap", number, kind) for number, kind in enumerate(kinds)]
    named += [("process_name", pid, 0, name) for pid, name in TRACKS.items()]
    return [
        event(None, name, None, None, phase="M", pid=pid, tid=tid, args={"name": of}) for name, pid, tid, of in named
    ]


def on_track(pid: str, name: str, start: Nanoseconds, duration: Nanoseconds, tid: int = 0, **columns: Any) -> Row:
    """An event without a category: a task of the device, a collective or a task of one, a call of CANN."""
    return event(None, name, start, duration, pid=pid, tid=tid, **columns)


def task(
    name: str, start: Nanoseconds, duration: Nanoseconds, stream: int = 2, task_type: str = "AI_CORE", **columns: Any
) -> Row:
    """A task on a stream of the device."""
    return on_track("hardware", name, start, duration, stream, args={"Task Type": task_type}, **columns)


def hcom(name: str, start: Nanoseconds, duration: Nanoseconds, group: int = 0, **args: Any) -> Row:
    """A collective of the group in that place."""
    return on_track("hccl", name, start, duration, group * 10, args=args)


def plane_task(
    name: str, start: Nanoseconds, duration: Nanoseconds, plane: int = 0, group: int = 0, size: int | None = None
) -> Row:
    """A task of a collective, on a plane of a group."""
    return on_track("hccl", name, start, duration, group * 10 + 1 + plane, args={"size(Byte)": size})


def device_flow(
    flow_id: int | str, operator_start: int, start: int, track: str = "hardware", stream: int = 2, pid: str = HOST
) -> list[Row]:
    """A flow from an operator to a task, or to a collective."""
    known = {"flow_id": str(flow_id)}
    return [
        event("async_npu", "torch_to_npu", operator_start, None, phase="s", pid=pid, **known),
        event("async_npu", "torch_to_npu", start, None, phase="f", pid=track, tid=stream, **known),
    ]


def framework(name: str, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """A call of MindSpore's framework, which has no category."""
    return event("", name, start, duration, **({"pid": "mindspore"} | columns))


def overlap(kind: int, start: Nanoseconds, duration: Nanoseconds) -> Row:
    """An interval of the Overlap Analysis: 0 computing, 1 communication, 2 not overlapped, 3 free."""
    return on_track("overlap", "interval", start, duration, kind)


def detail(name: str, kernel_type: str | None, start: Nanoseconds, duration: Nanoseconds, **columns: Any) -> Row:
    """A row of the kernel details; accelerator_core=, input_shapes=, matrix_ns=, step=, stream=."""
    known = {"kernel_name": name, "kernel_type": kernel_type, "start_ns": start, "duration_ns": duration}
    return "kernel_detail", known | columns


def allocation(operator: str, size: int, at: Nanoseconds, held: int | None = None, **columns: Any) -> Row:
    """A row of the allocations of an Ascend profile."""
    return "allocation", {"operator_name": operator, "bytes": size, "allocated_at_ns": at, "held_ns": held} | columns


def sample(component: str, at: int, reserved: int, **columns: Any) -> Row:
    """A row of the memory samples of an Ascend profile."""
    return "memory_sample", {"component": component, "time_ns": at, "total_reserved": reserved} | columns


def statistic(source: str, name: str, category: str, count: int, total: int, **columns: Any) -> Row:
    """A row of one of the tables of sums of an Ascend profile; average_ns=, min_ns=, max_ns=."""
    known = {"source": source, "name": name, "category": category, "call_count": count, "total_ns": total}
    return "statistic", known | columns


def analysed(source: str, name: str, **columns: Any) -> Row:
    """A row of CANN's analysis of communication."""
    return "communication", {"source": source, "name": name} | columns


def metadata(key: str, value: Any) -> Row:
    """A key of the metadata of a run."""
    return "trace_metadata", {"key": key, "value": json.dumps(value)}


# -- views over them ------------------------------------------------------------------------------------


class Views:
    """The catalog over some runs: ask by SQL."""

    def __init__(self, runs: dict[str, Iterable[Any]]) -> None:
        self.tables = raw_tables(runs)
        # A database of its own, attached to the one process-wide instance: starting another takes longer than a test.
        self.connection = _instance().cursor()
        name = f"house_{next(_NUMBERS)}"
        self.connection.execute(f"attach ':memory:' as {name}; use {name}")
        for statement in _foundation():
            self.connection.execute(statement)
        for raw, table in self.tables.items():
            self.connection.register("batch", table)
            self.connection.execute(f"create table raw.{raw} as select * from batch")
            self.connection.unregister("batch")
        self._there: set[str] = set()
        weakref.finalize(self, _leave, self.connection, name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query as tuples."""
        wanted = _VIEW.findall(sql)
        of_steps = {name for name in wanted if name.endswith(_OF_STEPS)} - self._there
        for name in _read_by(frozenset(name.removesuffix(_OF_STEPS) for name in wanted)):
            if name not in self._there:
                self._compute(catalog().views[name])
                self._there.add(name)
        for name in sorted(of_steps):
            macro = macro_of_steps(catalog().views, catalog().views[name.removesuffix(_OF_STEPS)])
            self.connection.execute(f"create macro {macro}")
            self._there.add(name)
        return self.connection.execute(sql).fetchall()

    def _compute(self, view: View) -> None:
        if view.walk is None:
            self.connection.execute(f"create table {view.qualified} as {view.body}")
            return
        walk = WALKS[view.walk]
        rows = self.connection.sql(view.body).to_arrow_table()
        parts = []
        for run_id in pc.unique(rows.column("run_id")).to_pylist():
            own = pa.Table.from_batches(walk.run(rows.filter(pc.field("run_id") == run_id).to_batches()), walk.schema)
            parts.append(own.add_column(0, "run_id", pa.repeat(pa.scalar(run_id), own.num_rows)))
        empty = pa.schema([("run_id", pa.string()), *walk.schema]).empty_table()
        self.connection.register("batch", pa.concat_tables([empty, *parts]))
        self.connection.execute(f"create table {view.qualified} as select * from batch")
        self.connection.unregister("batch")

    def pairs(self, sql: str) -> dict[Any, Any]:
        """A query of a key and one value (or more, as a tuple) as a dict."""
        found = self.rows(sql)
        assert len({row[0] for row in found}) == len(found), "keys repeat"
        return {key: values[0] if len(values) == 1 else tuple(values) for key, *values in found}

    def one(self, sql: str) -> tuple[Any, ...]:
        """The only row of a query."""
        (row,) = self.rows(sql)
        return row


def views(*events: Any, **runs: Iterable[Any]) -> Views:
    """The catalog over runs given by name, or over the events of one run called `run`."""
    return Views({"run": events} | runs if events else runs)


def raw_tables(runs: dict[str, Iterable[Any]]) -> dict[str, pa.Table]:
    """The raw tables of some runs, with run_id as a column."""
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in RAW_TABLES}
    for run_id, rows in runs.items():
        opened = list(_opened(rows))
        if not any(table == "run" for table, _ in opened):
            opened.append(about(label=run_id))
        events = [values for table, values in opened if table == "event"]
        others = 0
        for table, values in opened:
            if table != "event":
                numbered = {"event_index": len(events) + others} if "event_index" in RAW_TABLES[table].names else {}
                found[table].append({"run_id": run_id} | (numbered if table != "problem" else {}) | values)
                others += 1
        found["event"] += [{"run_id": run_id, "event_index": i} | values for i, values in enumerate(events)]
    for table, rows in found.items():
        unknown = {column for row in rows for column in row} - {"run_id", *RAW_TABLES[table].names}
        assert not unknown, f"no such columns of raw.{table}: {unknown}"
    return {
        table: pa.Table.from_pylist(rows, pa.schema([("run_id", pa.string()), *RAW_TABLES[table]]))
        for table, rows in found.items()
    }


def _opened(rows: Iterable[Any]) -> Iterable[Row]:
    for row in rows:
        if isinstance(row, list):
            yield from _opened(row)
        else:
            yield row


@functools.cache
def catalog() -> Catalog:
    """The catalog of this checkout, parsed once."""
    return Catalog()


@functools.cache
def _instance() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process, with the seeds."""
    connection = duckdb.connect(config={"threads": 1, "python_enable_replacements": "false"})
    install_alignment(connection)
    for seed in catalog().seeds.values():
        connection.execute(f"create table {seed.name} as {_seed_values(seed)}")
    return connection


def _leave(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.close()
    _instance().execute(f"detach {name}")


@functools.cache
def _foundation() -> tuple[str, ...]:
    """Statements for all below the views: schemas, seeds and macros."""
    schemas = [f"create schema {schema}" for schema in ("raw", "seeds", "macros", "staging", "intermediate", "marts")]
    seeds = [f"create table seeds.{name} as from memory.main.{name}" for name in catalog().seeds]
    macros = [f"create macro macros.{macro.signature} as ({macro.body})" for macro in catalog().macros_in_order()]
    return (*schemas, *seeds, *macros)


@functools.cache
def _read_by(wanted: frozenset[str]) -> tuple[str, ...]:
    """The views that these read, themselves last, in the order in which they can be computed."""
    needed = set(wanted)
    for name, view in reversed(catalog().views.items()):
        if name in needed:
            needed |= {reference for reference in view.references if reference in catalog().views}
    return tuple(name for name in catalog().views if name in needed)
