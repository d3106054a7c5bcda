"""`memory_record.csv`: what each component of the software holds on the device, over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, device, has_columns, mebibytes, microseconds, text
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "memory_record"
LAYOUT = Layout(
    "memory_sample",
    {
        "component": From(text, "Component"),
        "time_ns": From(microseconds, "Timestamp(us)"),
        "total_allocated": From(mebibytes, "Total Allocated(MB)"),
        "total_reserved": From(mebibytes, "Total Reserved(MB)"),
        "device": From(device, "Device Type"),
    },
)


def detect(head: bytes) -> bool:
    """Is it a CSV of memory samples?"""
    return has_columns(head, "Component", "Timestamp(us)", "Total Reserved(MB)", "Device Type")


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
