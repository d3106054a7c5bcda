"""`kernel_details.csv` and `op_summary_*.csv`: tasks of an Ascend device, collectives among them.

Columns are those of all versions of CANN and torch_npu since 2023 and of MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, device, has_columns, microseconds, shapes, text, whole
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "kernel_details"
LAYOUT = Layout(
    "kernel_detail",
    {
        "step": From(whole, "Step Id", "Step ID"),
        "device": From(device, "Device_id", "Device ID"),
        "stream": From(whole, "Stream ID"),
        "task_id": From(whole, "Task ID"),
        "kernel_name": From(text, "Name", "Op Name"),
        "kernel_type": From(text, "Type", "OP Type"),
        "accelerator_core": From(text, "Accelerator Core", "Task Type"),
        "start_ns": From(microseconds, "Start Time(us)", "Task Start Time(us)"),
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
)


def detect(head: bytes) -> bool:
    """Is it a CSV of device tasks?"""
    return has_columns(head, "Name", "Accelerator Core", "Duration(us)") or has_columns(
        head, "Op Name", "Task Type", "Task Duration(us)"
    )


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
