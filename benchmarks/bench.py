"""Measures each stage in its own process, and prints Markdown: a table for each trace.

    python benchmarks/bench.py                        # generated traces of 100 MB and 1 GB, and one of many functions
    python benchmarks/bench.py --mb 10000             # a generated trace of 10 GB
    python benchmarks/bench.py --functions 300        # one of 300 MB, half of whose events are Python functions
    python benchmarks/bench.py TRACE [OTHER]          # your trace, compared with another one or with itself
    python benchmarks/bench.py --rows 1000000         # a workbook of a million rows
    python benchmarks/bench.py --runs 200             # a warehouse of 200 runs against one of two

With TRACEMILL_BENCH_MSPROF and TRACEMILL_BENCH_HTA (see others.py) other tools compare the same two traces. MB count
uncompressed JSON. Machines are noisy: compare figures of the same run, as ratios, and look at CPU s first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import duckdb
from isal import igzip

from benchmarks import others
from benchmarks.stage import ROOT, TRACEMILL, Stage, run

DEFAULT_MB = (100, 1000)
# Python functions in each call of a module: with as many, they are half of the events, as in traces with stacks.
FRAMES = 20
FRAMES_MB = 300
EXTRACT = """
import sys
from pathlib import Path
from pipeline.extract.trace import kineto
from pipeline.extract.report import Report
from pipeline.warehouse.partitions import PartitionWriter
folder = Path(sys.argv[2])
writer = PartitionWriter(folder, folder)
for table, batch in kineto.extract(Path(sys.argv[1]), Report(), lane=sys.argv[3]):
    writer.write(table, batch)
writer.close()
"""
GENERATE = """
import sys
from dataclasses import replace
from pathlib import Path
from fixtures.make_fixtures import demo_models, write_trace
model = replace(demo_models()[int(sys.argv[2])], python_frames=int(sys.argv[3]))
write_trace(model, Path(sys.argv[1]), None, int(sys.argv[4]) if sys.argv[4:] else None)
"""
Header = Sequence[str]


def generate(path: Path, version: int, *size: str, frames: int = 0) -> Path:
    """Write a trace of the demo's base (version 0) or new model (1), of `size` bytes or of the demo's size."""
    run("generate", [sys.executable, "-c", GENERATE, str(path), str(version), str(frames), *size])
    return path


def measure(base: Path, new: Path, folder: Path, lanes: Sequence[str]) -> None:
    """Print a table for reading a trace and comparing it with another, and the ratios between its stages."""
    reading = list(_reading(base, folder, lanes))
    comparing = list(_comparing(base, new, folder))
    query = "select event_count from marts.run where run_id = 'base'"
    counted = run("count", [*TRACEMILL, "sql", query, "-f", "json", "-w", str(folder / "ingested")])
    events = json.loads(counted.output)[0]["event_count"]
    size = uncompressed_size(base) / 1e6
    heading(f"{base.name}: {size:,.0f} MB, {events:,} events")
    print_table(
        ("stage", "s", "CPU s", "peak MB", "MB/s", "events/s"),
        [
            *(
                (*_figures(stage), f"{size / stage.seconds:,.0f}", f"{events / stage.seconds:,.0f}")
                for stage in reading
            ),
            *((*_figures(stage), "", "") for stage in comparing),
        ],
    )
    cold = [stage for stage in comparing if stage.name.startswith("compare, cold")]
    pairs = [(reading[0], stage) for stage in reading if stage.name == "extract, reference"]
    pairs += [(own, stage) for stage in comparing if not stage.name.startswith("compare") for own in cold]
    print_ratios(pairs)


def _reading(trace: Path, folder: Path, lanes: Sequence[str]) -> Iterator[Stage]:
    """Extraction by itself, in each lane and from .gz, and ingest (extraction and derived results)."""

    def extract(name: str, source: Path, lane: str) -> Stage:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            return run(name, [sys.executable, "-c", EXTRACT, str(source), out, lane])

    for lane in lanes:
        yield extract(f"extract, {lane}", trace, lane)
    if trace.suffix != ".gz":
        packed = folder / f"{trace.name}.gz"
        with trace.open("rb") as source, igzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        yield extract("extract, bulk, from .gz", packed, "bulk")
        packed.unlink()
    yield run("ingest", [*TRACEMILL, "ingest", str(trace), "--label", "base", "-w", str(folder / "ingested")])


def _comparing(base: Path, new: Path, folder: Path) -> Iterator[Stage]:
    """Compare both traces, given as files: cold with a new warehouse, then warm, then with other tools."""
    if new == base:
        new = folder / f"again-{base.name}"
        shutil.copyfile(base, new)
    command = [*TRACEMILL, "compare", str(base), str(new), "-o", str(folder), "-w"]
    for number, options in enumerate(([], ["--no-details"])):
        name = ", ".join(["", *options])
        for state in ("cold", "warm"):
            yield run(f"compare, {state}{name}", [*command, str(folder / f"compared-{number}"), *options])
    with tempfile.TemporaryDirectory(dir=folder) as out:
        yield from others.comparisons(unpacked(base, folder), unpacked(new, folder), Path(out))


def unpacked(trace: Path, folder: Path) -> Path:
    """The trace without compression, since not every tool reads compressed traces."""
    if trace.suffix != ".gz":
        return trace
    plain = folder / trace.stem
    with igzip.open(trace) as source, plain.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return plain


def measure_workbook(rows: int, folder: Path) -> None:
    """Print what it takes to write a workbook of so many rows, and what it would take cell by cell."""
    script = [sys.executable, str(ROOT / "benchmarks" / "workbook.py"), str(rows), str(folder / "out.xlsx")]
    names = ("workbook", "the same cell by cell", "making the rows alone")
    stages = [
        run(name, [*script, *lane]) for name, lane in zip(names, ([], ["--by-cell"], ["--rows-only"]), strict=True)
    ]
    heading(f"A workbook of {rows:,} rows of 16 columns")
    print_table(("stage", "s", "CPU s", "peak MB"), [_figures(stage) for stage in stages])
    print_ratios([(stages[0], stages[1])])


def measure_runs(runs: int, folder: Path) -> None:
    """Print what a warm comparison takes in a warehouse of many runs, and in one of only two."""
    trace = generate(folder / "trace.json", 0)
    found: dict[int, dict[str, float]] = {}
    for count in (2, runs):
        traces = folder / f"{count}-traces"
        traces.mkdir()
        for number in range(count):
            (traces / f"v{number}.json").symlink_to(trace)
        house = str(folder / f"{count}-runs")
        ingested = run("ingest", [*TRACEMILL, "ingest", str(traces), "-w", house])
        script = str(ROOT / "benchmarks" / "manyruns.py")
        found[count] = json.loads(run("compare", [sys.executable, script, house, "v0", "v1"]).output)
        found[count]["ingest, per run"] = ingested.cpu_seconds / count
    heading(f"Two runs of a warehouse of 2 runs and of {runs}")
    rows = [
        (part, f"{1000 * few:,.1f}", f"{1000 * many:,.1f}", f"{many / few:.2f}")
        for (part, few), many in zip(found[2].items(), found[runs].values(), strict=True)
    ]
    print_table(("part", "CPU ms, 2 runs", f"CPU ms, {runs} runs", "ratio"), rows)


def _figures(stage: Stage) -> tuple[str, ...]:
    return stage.name, f"{stage.seconds:.2f}", f"{stage.cpu_seconds:.2f}", f"{stage.peak_mb:,.0f}"


def heading(title: str) -> None:
    """Print the head of a section: its title, the command line, and the machine."""
    arguments = [Path(argument).name if Path(argument).exists() else argument for argument in sys.argv[1:]]
    variables = [f"{name}=… " for name in others.VARIABLES if os.environ.get(name)]
    print(
        f"\n## {title}\n\n`{''.join(variables)}{' '.join(['python benchmarks/bench.py', *arguments])}`, {machine()}\n"
    )


def machine() -> str:
    """The processor, cores, memory and versions, and the load before the first stage."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    processor = names[0] if names else platform.machine()
    versions = f"Python {platform.python_version()}, DuckDB {duckdb.__version__}"
    return f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB, {versions}; load {LOAD:.1f} before the first stage"


LOAD = os.getloadavg()[0]


def print_table(header: Header, rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with all columns but the first aligned to the right."""
    print(f"| {' | '.join(header)} |\n|---|{'---:|' * (len(header) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def print_ratios(pairs: Sequence[tuple[Stage, Stage]]) -> None:
    """Print, for each pair of stages, the ratios of time and memory of the second to the first."""
    if not pairs:
        return
    print()
    rows = [
        (
            f"{second.name} / {first.name}",
            f"{second.seconds / first.seconds:.1f}",
            f"{second.cpu_seconds / first.cpu_seconds:.1f}",
            f"{second.peak_mb / first.peak_mb:.1f}",
        )
        for first, second in pairs
    ]
    print_table(("ratio", "s", "CPU s", "peak MB"), rows)


def uncompressed_size(path: Path) -> int:
    """Bytes of the JSON text without compression."""
    if path.suffix != ".gz":
        return path.stat().st_size
    with igzip.open(path) as file:
        return sum(map(len, iter(lambda: file.read(1 << 20), b"")))


def main() -> None:
    """Parse the arguments and run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, metavar="TRACE")
    parser.add_argument("other", nargs="?", type=Path, metavar="OTHER")
    parser.add_argument("--mb", type=int, action="append", default=[], help="size of generated traces (repeatable)")
    parser.add_argument(
        "--functions", type=int, action="append", default=[], help="the same with many Python functions"
    )
    parser.add_argument("--no-reference", action="store_true", help="leave out the reference reader")
    parser.add_argument("--rows", type=int, help="measure a workbook of ROWS rows instead")
    parser.add_argument("--runs", type=int, help="measure a warehouse of RUNS runs instead")
    given = parser.parse_args()
    lanes = ["bulk"] if given.no_reference else ["bulk", "reference"]
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as name:
        folder = Path(name)
        if given.rows:
            measure_workbook(given.rows, folder)
        if given.runs:
            measure_runs(given.runs, folder)
        if given.trace:
            base = given.trace.resolve()
            measure(base, given.other.resolve() if given.other else base, folder, lanes)
        for size, frames in _generated(given):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                kind = "-functions" if frames else ""
                pair = [
                    generate(
                        Path(place, f"{version}-{size}MB{kind}.json"), number, str(size * 1_000_000), frames=frames
                    )
                    for number, version in enumerate(("base", "new"))
                ]
                measure(pair[0], pair[1], Path(place), lanes)


def _generated(given: argparse.Namespace) -> list[tuple[int, int]]:
    """The traces to generate: their MB, and the Python functions in each call of a module."""
    if given.mb or given.functions:
        return [(size, 0) for size in given.mb] + [(size, FRAMES) for size in given.functions]
    if given.rows or given.runs or given.trace:
        return []
    return [*((size, 0) for size in DEFAULT_MB), (FRAMES_MB, FRAMES)]


if __name__ == "__main__":
    main()
