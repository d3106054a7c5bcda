"""Kills writers of a warehouse at random moments, two at work and a reader beside them, and looks what is left.

usage: kills.py [--kills N] [--seed N] [--folder DIR]

Each writer ingests traces, some of them again, under labels that both use. Every answer that the reader gets must hold
all runs that it has seen before, with all of their events. At the end, after one more ingest, every file in the
warehouse must belong to a run. Prints what happened; exits 1 where something broke.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pipeline  # noqa: E402
from pipeline.load.warehouse import Warehouse  # noqa: E402

WRITERS = 2
LABELS = 6
KERNELS = (400, 900, 1_500)
_EVENTS = "select run_id, count(*) as events from raw.event group by run_id"
_KERNELS = "select run_id, sum(call_count)::bigint as kernels from marts.kernel where step is null group by run_id"


def main() -> None:
    """Kill, then judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)  # the reader's process
    given = parser.parse_args()
    if given.read:
        read_on(given.read)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        faults = kill_and_judge(Path(folder), given.kills, random.Random(given.seed))  # noqa: S311
    for fault in faults:
        print(f"BROKEN: {fault}")
    sys.exit(bool(faults))


def read_on(house: Path) -> None:
    """Ask again and again, and print each answer as a line, until a line comes in."""
    while True:
        started = time.monotonic()
        found = {row["run_id"]: row["events"] for row in pipeline.query(_EVENTS, warehouse=house).to_pylist()}
        kernels = {row["run_id"]: row["kernels"] for row in pipeline.query(_KERNELS, warehouse=house).to_pylist()}
        print(json.dumps([found, kernels, time.monotonic() - started]), flush=True)


@dataclass
class _Counts:
    kills: int = 0
    finished: int = 0
    left: Counter[str] = field(default_factory=Counter)


def kill_and_judge(folder: Path, kills: int, dice: random.Random) -> list[str]:
    """Kill so many writers; what was broken by it."""
    house = folder / "house"
    traces = [_trace(folder / f"{count}.json", count) for count in KERNELS]
    started = time.monotonic()
    subprocess.run(_ingest(house, traces[-1:], "first"), check=True, capture_output=True)
    whole = time.monotonic() - started
    reader = subprocess.Popen(
        [sys.executable, __file__, "--read", str(house)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    counts = _Counts()
    faults = []
    writers: list[tuple[subprocess.Popen[str], float]] = []
    while counts.kills < kills:
        while len(writers) < WRITERS:
            chosen = dice.sample(traces, dice.choice((1, 2)))
            command = _ingest(house, chosen, f"label{dice.randrange(LABELS)}", dice.choice((1, 1, 2)))
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            writers.append((process, time.monotonic() + dice.uniform(0, 1.5 * whole)))
        time.sleep(0.002)
        for writer in list(writers):
            process, end = writer
            if process.poll() is None and time.monotonic() > end:
                process.kill()
                counts.kills += 1
            elif process.poll() is None:
                continue
            writers.remove(writer)
            _, error = process.communicate()
            if process.returncode == 0:
                counts.finished += 1
            elif process.returncode > 0 and "is being ingested by another process" not in error:
                faults.append(f"a writer failed: {error.strip()}")
            counts.left["leftovers seen after kills"] += 1 if any(leftovers(house)) else 0
    for process, _ in writers:
        process.communicate()
    reader_failed = reader.poll() is not None
    reader.kill()
    answers, error = reader.communicate()
    if reader_failed:
        faults.append(f"the reader failed: {error.strip()}")
    faults += judge_answers(answers.splitlines()[:-1])
    faults += judge_house(house, traces)
    runs = len(Warehouse(house).manifests())
    print(
        f"{counts.kills} writers killed, {counts.finished} finished, {len(answers.splitlines())} answers, {runs} runs"
    )
    print(f"after {counts.left['leftovers seen after kills']} writers something lay in the warehouse that was no run's")
    print("after the next ingest: " + ("all files are of runs" if not any(leftovers(house)) else "leftovers"))
    return faults


def judge_answers(lines: list[str]) -> Iterator[str]:
    """A run that was there stays, and has all of its events and kernels."""
    seen: dict[str, int] = {}
    for line in lines:
        events, kernels, _ = json.loads(line)
        if lost := seen.keys() - events.keys():
            yield f"runs {sorted(lost)} were there and are lost"
        # Kernels are asked for later, when there may be more runs.
        wrong = [run for run in events if events[run] not in KERNELS or kernels.get(run) != events[run]]
        if wrong:
            yield f"runs {wrong} have other events or kernels than their traces: {events}, {kernels}"
        seen = events


def judge_house(house: Path, traces: list[Path]) -> Iterator[str]:
    """After one more ingest every file is of a run, every run whole, and nothing else is there."""
    done = subprocess.run(_ingest(house, traces, "last"), capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"the last ingest failed: {done.stderr.strip()}"
    yield from (f"left over: {path.relative_to(house)}" for path in leftovers(house))
    warehouse = Warehouse(house)
    for run_id in warehouse.manifests():
        missing = [
            view.name for view in warehouse.catalog.materialized if not _derived(warehouse, view.qualified, run_id)
        ]
        if missing:
            yield f"{run_id} lacks {missing}"
    yield from judge_answers([_asked(house)])


def leftovers(house: Path) -> Iterator[Path]:
    """Files that are neither the database nor of a run that has a manifest."""
    runs = {path.parent.name for path in house.glob("runs/*/manifest.json")}
    for path in sorted(house.rglob("*")):
        if path.is_dir() or path == house / "warehouse.duckdb":
            continue
        kind, *places = path.relative_to(house).parts
        is_manifest = kind == "runs" and places == [places[0], "manifest.json"]
        is_part = kind in ("raw", "derived") and places[1].removeprefix("run_id=") in runs
        if not is_manifest and not is_part:
            yield path


def _derived(warehouse: Warehouse, view: str, run_id: str) -> bool:
    fingerprint = warehouse.catalog.fingerprints[view]
    return any(warehouse.layout.derived(view.split(".")[1], fingerprint, run_id).glob("*.parquet"))


def _asked(house: Path) -> str:
    found = [{row["run_id"]: row["events"] for row in pipeline.query(_EVENTS, warehouse=house).to_pylist()}]
    found += [{row["run_id"]: row["kernels"] for row in pipeline.query(_KERNELS, warehouse=house).to_pylist()}]
    return json.dumps([*found, 0])


def _ingest(house: Path, traces: list[Path], label: str, workers: int = 1) -> list[str]:
    command = [sys.executable, "-m", "pipeline.cli", "ingest", *map(str, traces), "--label", label, "-w", str(house)]
    return [*command, "--workers", str(workers)]


def _trace(path: Path, count: int) -> Path:
    kernels = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": f"kernel{number % 50}",
            "pid": 0,
            "tid": 7,
            "ts": 10 * number,
            "dur": 5,
            "args": {"device": 0, "stream": 7},
        }
        for number in range(count)
    ]
    path.write_text(json.dumps({"traceEvents": kernels}), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
