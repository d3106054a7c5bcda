"""`op_statistic.csv`: sums over kernels by type and core, as CANN counted them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.extract.columns import From, Layout, has_columns, microseconds, text, whole
from pipeline.extract.csvfile import read_csv
from pipeline.extract.report import Report

NAME = "op_statistic"
LAYOUT = Layout(
    "statistic",
    {
        "name": From(text, "OP Type"),
        "category": From(text, "Core Type"),
        "call_count": From(whole, "Count"),
        "total_ns": From(microseconds, "Total Time(us)"),
        "average_ns": From(microseconds, "Avg Time(us)"),
        "min_ns": From(microseconds, "Min Time(us)"),
        "max_ns": From(microseconds, "Max Time(us)"),
    },
    {"source": NAME},
)


def detect(head: bytes) -> bool:
    """Is it a CSV of sums over kernels?"""
    return has_columns(head, "OP Type", "Core Type", "Total Time(us)")


def extract(
    path: Path, report: Report, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file. Raises InputError where it has no header."""
    return read_csv(path, LAYOUT, report, progress)
