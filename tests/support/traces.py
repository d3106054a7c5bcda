"""Events of `tests.support.events` as a trace file in Kineto's format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.schema import EVENT_ARGUMENTS
from tests.support.events import Nanoseconds, Row, kernel, launch, op, opened

# aten::mm launches gemm (10 µs) at 1030 µs, then add (5 µs) has no launch: compute 15, idle 5, E2E 20.
SMALL = [
    op("aten::mm", 1_000_000, 20_000),
    launch("cudaLaunchKernel", 1_005_000, 3_000, 41),
    kernel("gemm", 1_030_000, 10_000, correlation=41),
    kernel("add", 1_045_000, 5_000),
]


def event_text(row: Row) -> str:
    """One event as JSON: exact microseconds, typed columns as arguments in the spelling that readers prefer."""
    table, values = row
    assert table == "event", f"a trace has no rows of raw.{table}"
    arguments = {spellings[0]: _listed(values.get(column)) for column, (_, spellings) in EVENT_ARGUMENTS.items()}
    arguments = json.loads(values["args"] or "{}") | {key: v for key, v in arguments.items() if v is not None}
    fields = {
        "ph": json.dumps(values["phase"]),
        "cat": json.dumps(values["category"]),
        "name": json.dumps(values["name"]),
        "pid": _number(values["pid"]),
        "tid": _number(values["tid"]),
        "ts": _microseconds(values["start_ns"]),
        "dur": _microseconds(values["duration_ns"]),
        "id": json.dumps(values.get("flow_id")),
        "args": json.dumps(arguments or None),
    }
    return "{" + ", ".join(f'"{key}": {text}' for key, text in fields.items() if text != "null") + "}"


def array_text(events: Iterable[Any]) -> str:
    """Events as the array that a trace has, or is."""
    return f"[{', '.join(event_text(row) for row in opened(events))}]"


def trace_text(events: Iterable[Any] = SMALL, **envelope: Any) -> str:
    """A whole trace as JSON, with the metadata of `envelope`, and of rows among the events, before the events."""
    rows = list(opened(events))
    metadata = {row["key"]: json.loads(row["value"]) for table, row in rows if table == "trace_metadata"}
    listed = array_text(row for row in rows if row[0] != "trace_metadata")
    return json.dumps(envelope | metadata | {"traceEvents": 0})[:-2] + listed + "}"


def write(path: Path, events: Iterable[Any] = SMALL, **envelope: Any) -> Path:
    """Write a trace, compressed where the name ends in .gz."""
    data = trace_text(events, **envelope).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def _microseconds(nanoseconds: Nanoseconds) -> str:
    return "null" if nanoseconds is None else format(Decimal(nanoseconds).scaleb(-3), "f")


def _number(track: str) -> str:
    """Ids of processes and threads, which the raw tables have as text, are numbers where they can be."""
    return track if track.lstrip("-").isdecimal() else json.dumps(track)


def _listed(value: Any) -> Any:
    """Shapes and types, which the raw tables have as text, are lists."""
    return json.loads(value) if isinstance(value, str) and value.startswith("[") else value
