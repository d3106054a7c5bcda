"""`operator_details.csv`: calls of framework operators with their device time, as the profiler counted it.

MindSpore writes names and shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, has_columns, microseconds, text
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "operator_details"
LAYOUT = Layout(
    "statistic",
    {
        "name": From(text, "Name"),
        "total_ns": From(microseconds, "Device Total Duration(us)"),
    },
    {"source": NAME},
)


def detect(head: bytes) -> bool:
    """Is it a CSV of operator calls?"""
    return has_columns(head, "Name", "Input Shapes") and not has_columns(head, "Accelerator Core")


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
