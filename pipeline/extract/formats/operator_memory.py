"""`operator_memory.csv`: allocations of device memory with their release, by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, device, has_columns, kibibytes, mebibytes, microseconds, text, whole
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "operator_memory"
LAYOUT = Layout(
    "allocation",
    {
        "operator_name": From(text, "Name"),
        "bytes": From(kibibytes, "Size(KB)"),
        "allocated_at_ns": From(microseconds, "Allocation Time(us)"),
        "released_at_ns": From(microseconds, "Release Time(us)"),
        "held_ns": From(microseconds, "Duration(us)"),
        "total_allocated": From(mebibytes, "Allocation Total Allocated(MB)"),
        "total_reserved": From(mebibytes, "Allocation Total Reserved(MB)"),
        "stream": From(whole, "Stream Ptr"),
        "device": From(device, "Device Type"),
    },
)


def detect(head: bytes) -> bool:
    """Is it a CSV of allocations?"""
    return has_columns(head, "Name", "Size(KB)", "Allocation Time(us)")


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
