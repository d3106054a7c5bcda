"""`communication.json` and `communication_matrix.json`: CANN's analysis of collectives, by step.

step → p2p or collective → operation@group → times, and size and time by transport
step → p2p or collective → operation@group → "from-to" → transport, size and time

msprof has no steps: there the operations are at the top.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.extract.ascend.columns import megabytes, microseconds, milliseconds, text, whole
from pipeline.extract.ascend.jsonfile import read_pairs
from pipeline.extract.format import Format, Role
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report
from pipeline.schema import RAW_TABLES

_TOTAL = "Total Op Info"  # the sum of the others
_TIMES = {
    "start_ns": (microseconds, "Start Timestamp(us)"),
    "elapsed_ns": (milliseconds, "Elapse Time(ms)"),
    "transit_ns": (milliseconds, "Transit Time(ms)"),
    "wait_ns": (milliseconds, "Wait Time(ms)"),
    "synchronization_ns": (milliseconds, "Synchronization Time(ms)"),
    "idle_ns": (milliseconds, "Idle Time(ms)"),
}
Row = dict[str, Any]


def detect(head: bytes) -> bool:
    """Is it JSON with times of collectives or links between ranks?"""
    return head.lstrip()[:1] == b"{" and (b'"Communication Time Info"' in head or b'"Transport Type"' in head)


def extract(path: Path, report: Report, means: Means = ALONE) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of the file, a batch for each step."""
    for step, kinds in read_pairs(path, report, means):
        rows = (
            ([] if step == _TOTAL else list(_rows(step, kinds)))
            if _is_operation(kinds)
            else [
                {"step": step.removeprefix("step") or None, "kind": kind, **row}
                for kind, operations in _items(kinds)
                for name, operation in _items(operations)
                if name != _TOTAL
                for row in _rows(name, operation)
            ]
        )
        for index, row in enumerate(rows, report.next_index):
            row["event_index"] = index
        report.event_count += len(rows)
        yield "communication", pa.RecordBatch.from_pylist(rows, schema=RAW_TABLES["communication"])


def _is_operation(value: Any) -> bool:
    """Does it have times of one operation, or links between ranks, and not the operations of a step?"""
    return isinstance(value, dict) and (
        "Communication Time Info" in value or any("Transport Type" in transfer for _, transfer in _items(value))
    )


def _rows(name: str, operation: Row) -> Iterator[Row]:
    operation_name, _, group = name.partition("@")
    names: Row = {"name": operation_name, "process_group": group or None}
    times = operation.get("Communication Time Info")
    if not isinstance(times, dict):
        for link, transfer in _items(operation):
            source, _, target = link.partition("-")
            yield {
                **names,
                "source": "matrix",
                "source_rank": whole(source),
                "target_rank": whole(target),
                **_transfer(transfer, transfer.get("Transport Type")),
            }
        return
    values = {column: read(times.get(key)) for column, (read, key) in _TIMES.items()}
    yield {**names, "source": "communication", **values}
    for transport, transfer in _items(operation.get("Communication Bandwidth Info")):
        yield {**names, "source": "bandwidth", **_transfer(transfer, transport)}


def _transfer(transfer: Row, transport: Any) -> Row:
    known = {"Transport Type", "Transit Size(MB)", "Transit Time(ms)"}
    rest = {key: value for key, value in transfer.items() if key not in known}
    return {
        "transport": text(transport),
        "bytes": megabytes(transfer.get("Transit Size(MB)")),
        "transit_ns": milliseconds(transfer.get("Transit Time(ms)")),
        "args": json.dumps(rest, ensure_ascii=False, default=float) if rest else None,
    }


def _items(value: Any) -> Iterator[tuple[str, Row]]:
    """Entries of an object that are objects themselves; nothing for anything else."""
    if isinstance(value, dict):
        yield from ((key, entry) for key, entry in value.items() if isinstance(entry, dict))


FORMAT: Format = Format(
    name="communication",
    role=Role.PART,
    suffix=".json",
    detect=detect,
    extract=extract,
    profile_names=r"communication(?:_matrix)?[_\d]*\.json",
)
