"""`profiler_info*.json` and `profiler_metadata.json`: how the profile was recorded, its rank and process groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.extract.ascend.columns import whole
from pipeline.extract.ascend.jsonfile import read_pairs
from pipeline.extract.format import Format, Role
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report
from pipeline.schema import RAW_TABLES

_KEYS = (b'"common_config"', b'"profiler_parameters"', b'"start_info"', b'"ENV_VARIABLES"', b'"distributed_args"')


def detect(head: bytes) -> bool:
    """Is it JSON about the recording?"""
    return head.lstrip()[:1] == b"{" and b'"traceEvents"' not in head and any(key in head for key in _KEYS)


def extract(path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file: a row per key at its top."""
    pairs = dict(read_pairs(path, report, means))
    distributed = pairs.get("distributed_args")
    if isinstance(distributed, dict):
        report.rank = _first(report.rank, whole(distributed.get("rank")))
        report.world_size = _first(report.world_size, whole(distributed.get("world_size")))
    report.rank = _first(whole(pairs.get("rank_id")), report.rank)
    values = [json.dumps(value, ensure_ascii=False, default=float) for value in pairs.values()]
    columns = {"key": list(pairs), "value": values}
    yield "trace_metadata", pa.RecordBatch.from_pydict(columns, schema=RAW_TABLES["trace_metadata"])


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


FORMAT: Format = Format(
    name="profiler_info",
    role=Role.SETTINGS,
    suffix=".json",
    detect=detect,
    extract=extract,
)
