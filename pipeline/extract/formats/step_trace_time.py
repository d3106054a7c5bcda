"""`step_trace_time.csv`: the split of the time of each step, as the profiler counted it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, has_columns, microseconds, whole
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "step_trace_time"
LAYOUT = Layout(
    "statistic",
    {
        "step": From(whole, "Step"),
        "total_ns": From(microseconds, "Stage"),
    },
    {"source": NAME},
)


def detect(head: bytes) -> bool:
    """Is it a CSV of the split of steps?"""
    return has_columns(head, "Step", "Computing", "Communication(Not Overlapped)", "Free")


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
