"""CSV files of Ascend profilers and of msprof: one table of layouts, a row for each kind of file.

Columns are those of all versions of CANN and torch_npu since 2022 and of MindSpore. What a layout does not know is
kept in `args`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.extract.ascend.columns import (
    From,
    Layout,
    device,
    has_columns,
    kibibytes,
    mebibytes,
    microseconds,
    shapes,
    text,
    thousand_kibibytes,
    unnumbered,
    whole,
)
from pipeline.extract.ascend.csvfile import read_csv
from pipeline.extract.bytestream import beginning
from pipeline.extract.format import Format, Role, never
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report


def _table(
    name: str,
    layout: Layout,
    needs: tuple[tuple[str, ...], ...],
    *,
    role: Role = Role.PART,
    lacks: str | None = None,
    mindspore: Layout | None = None,
    is_promised: Callable[[Mapping[str, Any]], bool] = never,
) -> Format:
    """One kind of CSV file: the columns that identify it (all of a group, none of `lacks`), and the layout of its rows.

    `mindspore` is the layout of the same columns where MindSpore has written them.
    """

    def detect(head: bytes) -> bool:
        return any(has_columns(head, *group) for group in needs) and not (
            lacks is not None and has_columns(head, lacks)
        )

    def extract(path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
        return read_csv(path, mindspore if mindspore and _is_mindspores(path) else layout, report, means)

    return Format(
        name=name,
        role=role,
        suffix=".csv",
        detect=detect,
        extract=extract,
        profile_names=rf"{name}[_\d]*(?:slice[_\d]*)?\.csv",
        is_promised=is_promised,
    )


def _is_mindspores(path: Path) -> bool:
    """Did MindSpore write the file? Its folder says so; else its samples of memory do, active without a stream."""
    if any(folder.name.lower().endswith("_ascend_ms") for folder in path.resolve().parents):
        return True
    head = beginning(path)
    return has_columns(head, "Total Active(MB)") and not has_columns(head, "Stream Ptr")


_SUMS = {
    "call_count": From(whole, "Count"),
    "total_ns": From(microseconds, "Total Time(us)"),
    "average_ns": From(microseconds, "Avg Time(us)", "Avg(us)"),
    "min_ns": From(microseconds, "Min Time(us)", "Min(us)"),
    "max_ns": From(microseconds, "Max Time(us)", "Max(us)"),
}
_DEVICE = From(device, "Device Type", "Device", "Device_id")


def _records_memory(settings: Mapping[str, Any]) -> bool:
    return settings.get("profile_memory") is True


def _records_calls_of_cann(settings: Mapping[str, Any]) -> bool:
    return settings.get("_profiler_level", settings.get("profiler_level")) in ("Level1", "Level2")


# `kernel_details.csv` and `op_summary_*.csv`: tasks of a device that CANN describes, collectives among them.
kernel_details = _table(
    "kernel_details",
    Layout(
        "kernel_detail",
        {
            "step": From(whole, "Step Id", "Step ID"),
            "device": From(device, "Device_id", "Device ID"),
            "stream": From(whole, "Stream ID"),
            "task_id": From(whole, "Task ID"),
            "kernel_name": From(text, "Name", "Op Name"),
            "kernel_type": From(text, "Type", "OP Type"),
            "accelerator_core": From(text, "Accelerator Core", "Task Type"),
            # Without a unit in CANN to 7.0: microseconds all the same.
            "start_ns": From(microseconds, "Start Time(us)", "Task Start Time(us)", "Task Start Time"),
            "duration_ns": From(microseconds, "Duration(us)", "Task Duration(us)"),
            "wait_ns": From(microseconds, "Wait Time(us)", "Task Wait Time(us)"),
            "block_count": From(whole, "Block Num", "Block Dim"),
            "input_shapes": From(shapes, "Input Shapes"),
            "input_types": From(text, "Input Data Types"),
            "input_formats": From(text, "Input Formats"),
            "output_shapes": From(shapes, "Output Shapes"),
            "output_types": From(text, "Output Data Types"),
            "output_formats": From(text, "Output Formats"),
            "core_ns": From(microseconds, "aicore_time(us)"),
            "matrix_ns": From(microseconds, "aic_mac_time(us)", "mac_time(us)"),
            "vector_ns": From(microseconds, "aiv_vec_time(us)", "vec_time(us)"),
        },
    ),
    (("Name", "Accelerator Core", "Duration(us)"), ("Op Name", "Task Type", "Task Duration(us)")),
    role=Role.TASKS,
)
# `task_time_*.csv`: all tasks of a device, without types; the staging view decides which of them are kernels.
task_time = _table(
    "task_time",
    Layout(
        "kernel_detail",
        {
            "device": From(device, "Device_id"),
            "stream": From(whole, "stream_id"),
            "task_id": From(whole, "task_id"),
            "kernel_name": From(unnumbered, "kernel_name"),
            "accelerator_core": From(text, "kernel_type"),
            "start_ns": From(microseconds, "task_start(us)"),
            "duration_ns": From(microseconds, "task_time(us)"),
        },
    ),
    (("kernel_name", "kernel_type", "task_start(us)", "task_time(us)"),),
    role=Role.TASKS,
)
# `op_statistic.csv`: sums over kernels by type and core, as CANN counted them.
op_statistic = _table(
    "op_statistic",
    Layout(
        "statistic",
        {"name": From(text, "OP Type"), "category": From(text, "Core Type")} | _SUMS,
        {"source": "op_statistic"},
    ),
    (("OP Type", "Core Type", "Total Time(us)"),),
    is_promised=_records_calls_of_cann,
)
# `communication_statistic_*.csv`, which was `hccl_statistic_*.csv`: sums over collectives.
communication_statistic = _table(
    "communication_statistic",
    Layout("statistic", {"name": From(text, "OP Type")} | _SUMS, {"source": "communication_statistic"}),
    (("OP Type", "Count", "Total Time(us)"),),
    lacks="Core Type",
)
# `api_statistic.csv`: sums over calls of CANN by level and name.
api_statistic = _table(
    "api_statistic",
    Layout(
        "statistic",
        {"name": From(text, "API Name"), "category": From(text, "Level")}
        | _SUMS
        | {"total_ns": From(microseconds, "Time(us)")},
        {"source": "api_statistic"},
    ),
    (("Level", "API Name", "Time(us)"),),
    is_promised=_records_calls_of_cann,
)
# `step_trace_*.csv` of msprof: iterations of a graph.
step_trace = _table(
    "step_trace",
    Layout(
        "statistic",
        {"step": From(whole, "Iteration ID"), "total_ns": From(microseconds, "Iteration Time(us)")},
        {"source": "step_trace"},
    ),
    (("Iteration ID", "Iteration End(us)", "Iteration Time(us)"),),
)
# `step_trace_time.csv`: the split of each step, as the profiler counted it. That of several ranks has an index.
step_trace_time = _table(
    "step_trace_time",
    Layout(
        "statistic",
        {"step": From(whole, "Step"), "total_ns": From(microseconds, "Stage")},
        {"source": "step_trace_time"},
    ),
    (("Step", "Computing", "Communication(Not Overlapped)", "Free"),),
    lacks="Index",
)
# `operator_details.csv`: calls of framework operators with their device time; MindSpore writes names and shapes alone.
operator_details = _table(
    "operator_details",
    Layout(
        "statistic",
        {"name": From(text, "Name"), "total_ns": From(microseconds, "Device Total Duration(us)")},
        {"source": "operator_details"},
    ),
    (("Name", "Input Shapes"),),
    lacks="Accelerator Core",
)
# `operator_memory.csv`: allocations of device memory with their release, by operator.
operator_memory = _table(
    "operator_memory",
    Layout(
        "allocation",
        {
            "operator_name": From(text, "Name"),
            "bytes": From(kibibytes, "Size(KB)"),
            "allocated_at_ns": From(microseconds, "Allocation Time(us)"),
            "released_at_ns": From(microseconds, "Release Time(us)"),
            "held_ns": From(microseconds, "Duration(us)"),
            "total_allocated": (
                From(mebibytes, "Allocation Total Allocated(MB)"),
                From(kibibytes, "Allocation Total Allocated(KB)"),
            ),
            "total_reserved": (
                From(mebibytes, "Allocation Total Reserved(MB)"),
                From(kibibytes, "Allocation Total Reserved(KB)"),
            ),
            "stream": From(whole, "Stream Ptr"),
            "device": _DEVICE,
        },
    ),
    (("Name", "Size(KB)", "Allocation Time(us)"),),
    is_promised=_records_memory,
)
_SAMPLES = Layout(
    "memory_sample",
    {
        "component": From(text, "Component"),
        "time_ns": From(microseconds, "Timestamp(us)"),
        "total_allocated": (From(mebibytes, "Total Allocated(MB)"), From(kibibytes, "Total Allocated(KB)")),
        "total_reserved": (From(mebibytes, "Total Reserved(MB)"), From(kibibytes, "Total Reserved(KB)")),
        "device": _DEVICE,
    },
)
# `memory_record.csv`: what each component of the software holds on the device, over time.
memory_record = _table(
    "memory_record",
    _SAMPLES,
    (
        ("Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)"),
        ("Component", "Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)"),
    ),
    mindspore=replace(
        _SAMPLES,
        columns=dict(_SAMPLES.columns)
        | {
            f"total_{what}": (
                From(thousand_kibibytes, f"Total {what.title()}(MB)"),
                From(kibibytes, f"Total {what.title()}(KB)"),
            )
            for what in ("allocated", "reserved")
        },
    ),
    is_promised=_records_memory,
)

TABLES: tuple[Format, ...] = (
    kernel_details,
    task_time,
    memory_record,
    operator_memory,
    op_statistic,
    communication_statistic,
    api_statistic,
    step_trace,
    step_trace_time,
    operator_details,
)
