"""Events written in a test: rows of the raw tables.

    events = [op("aten::mm", 1000, 30), launch("cudaLaunchKernel", 1010, 4, correlation=9)]

Times are plain nanoseconds, `start` and `duration`. `views` of `tests.support.views` puts such rows straight into the
raw tables, in memory; `write` of `tests.support.traces` writes them as a trace, which a test can ingest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Row = tuple[str, dict[str, Any]]
Nanoseconds = int | None  # None where the profiler wrote nothing
HOST = "4242"


def opened(rows: Iterable[Any]) -> Iterable[Row]:
    """Rows, those of lists in the list among them."""
    for row in rows:
        if isinstance(row, list):
            yield from opened(row)
        else:
            yield row


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
