"""Small traces written by hand: the events of one step, and files of any shape around them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def _complete(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, args: dict[str, Any]) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name: str, ts: float, dur: float, *, stream: int = 7, **args: Any) -> Event:
    """A kernel on device 0; times in microseconds."""
    return _complete("kernel", name, 0, stream, ts, dur, {"device": 0, "stream": stream, **args})


def operator(name: str, ts: float, dur: float, **args: Any) -> Event:
    """An operator on the main thread."""
    return _complete("cpu_op", name, 4242, 1, ts, dur, args)


def launch(ts: float, dur: float, correlation: int, name: str = "cudaLaunchKernel") -> Event:
    """A runtime call on the main thread."""
    return _complete("cuda_runtime", name, 4242, 1, ts, dur, {"correlation": correlation})


def step(number: int, ts: float, dur: float) -> Event:
    """A step marker on the host."""
    return _complete("user_annotation", f"ProfilerStep#{number}", 4242, 1, ts, dur, {})


def allocation(ts: float, size: int, address: int = 4096) -> Event:
    """Bytes allocated on device 0 by the main thread."""
    args = {"Device Type": 1, "Device Id": 0, "Bytes": size, "Addr": address}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 4242, "tid": 1, "ts": ts, "args": args}


# aten::mm launches gemm (10 µs) at 1030, then add (5 µs) has no launch: compute 15, idle 5, E2E 20.
SMALL: list[Event] = [
    operator("aten::mm", 1000, 20),
    launch(1005, 3, 41),
    kernel("gemm", 1030, 10, correlation=41),
    kernel("add", 1045, 5),
]


def write(path: Path, events: list[Event] | None = None, **envelope: Any) -> Path:
    """Write a trace, compressed where the name ends in .gz."""
    data = json.dumps({**envelope, "traceEvents": SMALL if events is None else events}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
