"""Measures ingest and comparison on generated traces, or on traces given: each stage as a process of its own.

    python benchmarks/bench.py [--events 3000000] [TRACE ...]

Prints MB/s, events/s and the peak resident memory of each stage. The machine is part of every figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACEMILL = [sys.executable, "-m", "pipeline.cli"]


@dataclass(frozen=True)
class Stage:
    """One finished process: wall time in seconds, peak resident memory of it or its largest child in MB."""

    name: str
    seconds: float
    peak_mb: float
    output: str


def run(name: str, command: list[str]) -> Stage:
    """Run a command to its end. Raises SystemExit where it fails."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        out.seek(0)
        output = out.read()
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(command)}: failed")
    return Stage(name, seconds, usage.ru_maxrss / 1024, output)


def generate(folder: Path, events: int) -> list[Path]:
    """Two traces of one size; the second is the first version's again, under another name."""
    path = folder / "generated.json"
    run("generate", [sys.executable, "fixtures/make_fixtures.py", "big", str(path), "--events", str(events)])
    return [path]


def measure(path: Path, folder: Path) -> None:
    """Ingest a trace under two labels, compare the two, and print a line a stage."""
    house = ["-w", str(folder / "warehouse")]
    ingest = run("ingest", [*TRACEMILL, "ingest", str(path), "--label", "base", *house])
    run("ingest", [*TRACEMILL, "ingest", str(path), "--label", "new", *house])
    compare = run("compare", [*TRACEMILL, "compare", "base", "new", "-o", str(folder), *house])
    count = "select event_count from marts.run where run_id = 'base'"
    counted = run("count", [*TRACEMILL, "sql", count, "-f", "json", *house])
    events = json.loads(counted.output)[0]["event_count"]
    size = path.stat().st_size / 1e6
    print(f"{path.name}: {size:,.0f} MB, {events:,} events")
    for stage in (ingest, compare):
        rate = f"{size / stage.seconds:8,.1f} MB/s {events / stage.seconds:12,.0f} events/s" if stage is ingest else ""
        print(f"  {stage.name:<10} {stage.seconds:8.2f} s {stage.peak_mb:8,.0f} MB peak {rate}", flush=True)


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    parser.add_argument("--events", type=int, default=3_000_000, help="events of the generated trace")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as name:
        for path in [p.resolve() for p in arguments.traces] or generate(Path(name), arguments.events):
            with tempfile.TemporaryDirectory(dir=name) as folder:
                measure(path, Path(folder))


if __name__ == "__main__":
    main()
