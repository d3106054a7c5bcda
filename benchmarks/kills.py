"""Kills writers of a warehouse at random moments, while another writer and a reader use it, and checks what is left.

usage: kills.py [--kills N] [--seed N] [--folder DIR]

Two writers at a time ingest traces, some of them repeatedly, under shared labels. Each answer of the reader must
contain all runs that it has seen before, with all of their events. At the end, after one more ingest, every file in the
warehouse must belong to a run. Prints what happened; exits with 1 if a check failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pipeline  # noqa: E402
from pipeline.warehouse.warehouse import Warehouse  # noqa: E402

WRITERS = 2
LABELS = 6
KERNELS = (400, 900, 1_500)
_EVENTS = "select run_id, count(*) as events from raw.event group by run_id"
_KERNELS = "select run_id, sum(call_count)::bigint as kernels from marts.kernel where step is null group by run_id"


def main() -> None:
    """Parse the arguments, kill writers, and report faults."""
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
    """Query the warehouse until killed, and print each answer as one line."""
    while True:
        found = {row["run_id"]: row["events"] for row in pipeline.query(_EVENTS, warehouse=house).to_pylist()}
        kernels = {row["run_id"]: row["kernels"] for row in pipeline.query(_KERNELS, warehouse=house).to_pylist()}
        print(json.dumps([found, kernels]), flush=True)


def kill_and_judge(folder: Path, kills: int, dice: random.Random) -> list[str]:
    """Kill that many writers and return the faults found."""
    trial = _Trial(folder, dice)
    with subprocess.Popen(
        [sys.executable, __file__, "--read", str(trial.house)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reader:
        lines: list[str] = []
        listener = threading.Thread(target=lambda: lines.extend(reader.stdout or ()))
        listener.start()
        trial.kill(kills)
        if reader.poll() is not None:
            trial.faults.append(f"the reader failed: {reader.stderr and reader.stderr.read().strip()}")
        reader.kill()
        listener.join()
    answers = [line for line in lines if line.endswith("\n")]  # the last one may be cut
    trial.faults += judge_answers(answers)
    trial.faults += judge_house(trial.house, trial.traces)
    runs = len(Warehouse(trial.house).manifests())
    print(
        f"{trial.killed} writers killed, {trial.finished} finished, {len(answers)} answers of the reader, {runs} runs"
    )
    print(f"after {trial.littered} of the writers the warehouse had files that belonged to no run")
    print("after the next ingest: " + ("leftovers" if any(leftovers(trial.house)) else "every file belongs to a run"))
    return trial.faults


class _Trial:
    """Writers at work in one warehouse, and how they ended."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.house = folder / "house"
        self.traces = [_trace(folder / f"{count}.json", count) for count in KERNELS]
        self.faults: list[str] = []
        self.killed = self.finished = self.littered = 0
        self._dice = dice
        self._at_work: list[tuple[subprocess.Popen[str], float]] = []
        started = time.monotonic()
        subprocess.run(_ingest(self.house, self.traces[-1:], "first"), check=True, capture_output=True)
        self._seconds = time.monotonic() - started

    def kill(self, kills: int) -> None:
        """Let writers work until that many of them were killed, each at a random moment."""
        while self.killed < kills:
            while len(self._at_work) < WRITERS:
                self._begin()
            time.sleep(0.002)
            for writer in list(self._at_work):
                process, end = writer
                if process.poll() is None and time.monotonic() > end:
                    process.kill()
                    self.killed += 1
                elif process.poll() is None:
                    continue
                self._at_work.remove(writer)
                self._ended(process)
        for process, _ in self._at_work:
            self._ended(process)

    def _begin(self) -> None:
        chosen = self._dice.sample(self.traces, self._dice.choice((1, 2)))
        label = f"label{self._dice.randrange(LABELS)}"
        command = _ingest(self.house, chosen, label, self._dice.choice((1, 1, 2)))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._at_work.append((process, time.monotonic() + self._dice.uniform(0, 2.5 * self._seconds)))

    def _ended(self, process: subprocess.Popen[str]) -> None:
        _, error = process.communicate()
        self.finished += process.returncode == 0
        if process.returncode > 0 and "is being ingested by another process" not in error:
            self.faults.append(f"a writer failed: {error.strip()}")
        self.littered += any(leftovers(self.house))


def judge_answers(lines: list[str]) -> Iterator[str]:
    """Find faults in answers: runs that were lost, and runs without all of their events and kernels."""
    seen: dict[str, int] = {}
    for line in lines:
        events, kernels = json.loads(line)
        if lost := seen.keys() - events.keys():
            yield f"runs {sorted(lost)} were lost"
        # Kernels are queried after events, when there may be more runs.
        wrong = [run for run in events if events[run] not in KERNELS or kernels.get(run) != events[run]]
        if wrong:
            yield f"runs {wrong} do not have the events or kernels of their traces: {events}, {kernels}"
        seen = events


def judge_house(house: Path, traces: list[Path]) -> Iterator[str]:
    """Find faults after one more ingest: files that belong to no run, and runs that are not complete."""
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
    """Files that are neither the database nor part of a run with a manifest."""
    runs = {path.parent.name for path in house.glob("runs/*/manifest.json")}
    # A writer that ends may remove a folder meanwhile; os.walk ignores that.
    files = sorted(Path(folder, name) for folder, _, names in os.walk(house) for name in names)
    for path in files:
        if path == house / "warehouse.duckdb":
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
    return json.dumps(found)


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
