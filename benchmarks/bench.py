"""Measures ingest and comparison on generated traces, or on traces given: each stage as a process of its own.

    python benchmarks/bench.py                        # a generated trace of 3 million events
    python benchmarks/bench.py --mb 100 --mb 1000     # generated traces of these sizes
    python benchmarks/bench.py --reference TRACE ...  # traces given, with the reference reader beside the bulk lane

Prints MB/s (of uncompressed JSON), events/s and the peak resident memory of each stage. Machines are shared and noisy:
compare figures of one run, as ratios.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACEMILL = [sys.executable, "-m", "pipeline.cli"]
EXTRACT = """
import sys
from pathlib import Path
from pipeline.extract.formats import kineto
from pipeline.extract.report import Report
from pipeline.load.partitions import PartitionWriter
writer = PartitionWriter(Path(sys.argv[2]))
for table, batch in kineto.extract(Path(sys.argv[1]), Report(), lane=sys.argv[3]):
    writer.write(table, batch)
writer.close()
"""


@dataclass(frozen=True)
class Stage:
    """One finished process: wall and processor time in seconds, its peak resident memory in MB."""

    name: str
    seconds: float
    cpu_seconds: float
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
    return Stage(name, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def generated(folder: Path, events: int, sizes: list[int]) -> Iterator[Path]:
    """Make the traces asked for, one after another."""
    wanted = [("--mb", size) for size in sizes] or [("--events", events)]
    for option, amount in wanted:
        path = folder / f"generated-{option.lstrip('-')}-{amount}.json"
        run("generate", [sys.executable, "fixtures/make_fixtures.py", "big", str(path), option, str(amount)])
        yield path
        path.unlink()


def stages(path: Path, folder: Path, reference: bool) -> Iterator[Stage]:
    """Extraction alone, ingest (extraction and derived results), and a comparison of two ingested runs."""
    lanes = ["bulk", "reference"] if reference else ["bulk"]
    for lane in lanes:
        yield run(f"extract, {lane}", [sys.executable, "-c", EXTRACT, str(path), str(folder / lane), lane])
    house = ["-w", str(folder / "warehouse")]
    yield run("ingest", [*TRACEMILL, "ingest", str(path), "--label", "base", *house])
    run("ingest", [*TRACEMILL, "ingest", str(path), "--label", "new", *house])
    yield run("compare, warm", [*TRACEMILL, "compare", "base", "new", "-o", str(folder), *house])
    count = "select event_count from marts.run where run_id = 'base'"
    yield run("count", [*TRACEMILL, "sql", count, "-f", "json", *house])


def measure(path: Path, folder: Path, reference: bool) -> None:
    """Print a line a stage."""
    *found, counted = stages(path, folder, reference)
    events = json.loads(counted.output)[0]["event_count"]
    size = uncompressed_size(path) / 1e6
    print(f"\n{path.name}: {size:,.0f} MB, {events:,} events\n")
    print("| stage | s | CPU s | peak MB | MB/s | events/s |\n|---|---:|---:|---:|---:|---:|")
    for stage in found:
        is_reading = not stage.name.startswith("compare")
        rates = f"{size / stage.seconds:,.1f} | {events / stage.seconds:,.0f}" if is_reading else " | "
        print(
            f"| {stage.name} | {stage.seconds:.2f} | {stage.cpu_seconds:.2f} | {stage.peak_mb:,.0f} | {rates} |",
            flush=True,
        )


def uncompressed_size(path: Path) -> int:
    """Bytes of the JSON text."""
    if path.suffix != ".gz":
        return path.stat().st_size
    with gzip.open(path) as file:
        return sum(map(len, iter(lambda: file.read(1 << 20), b"")))


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    parser.add_argument("--events", type=int, default=3_000_000, help="events of the generated trace")
    parser.add_argument("--mb", type=int, action="append", default=[], help="size of a generated trace (repeatable)")
    parser.add_argument("--reference", action="store_true", help="measure the reference reader, too")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as name:
        given = [path.resolve() for path in arguments.traces]
        for path in given or generated(Path(name), arguments.events, arguments.mb):
            with tempfile.TemporaryDirectory(dir=name) as folder:
                measure(path, Path(folder), arguments.reference)


if __name__ == "__main__":
    main()
