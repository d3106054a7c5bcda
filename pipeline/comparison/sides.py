"""The two sides of a comparison: their runs, and notes that a reader needs before the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from pipeline.comparison.result import AVERAGE_STEP, Side
from pipeline.comparison.tables import fetch
from pipeline.errors import UsageError
from pipeline.warehouse.problem import Problem, problem_text

# Levels of Ascend profilers that do not record what several views need.
_SHALLOW = ("Level_none", "Level0")
# Notes on runs without device activities, by what their profiles hold about devices instead.
_WITHOUT_ACTIVITIES = {
    None: "no device activity in this trace{known}, so device time, its parts and kernels are empty",
    "overlap analysis": "no device activity in this trace, only the profiler's Overlap Analysis: device time and its"
    " parts are those of the analysis, and kernels are empty",
    "tables": "no device activity in this profile, only tables of sums, transfers or memory: device time, its parts and"
    " kernels are empty",
}


def side(connection: duckdb.DuckDBPyConnection, run_id: str, step: int | None, problems: Sequence[Problem]) -> Side:
    """One side of a comparison. Raises UsageError for a step that the run does not have."""
    (run,) = fetch(connection, "select * from marts.run where run_id = $run", {"run": run_id}).to_pylist()
    if step == AVERAGE_STEP:
        if not _averages(run):
            raise UsageError(f"run {run_id} has no complete step to average; compare whole runs")
    elif step is not None:
        found = "select step from marts.step where run_id = $run order by step"
        existing = [row[0] for row in connection.execute(found, {"run": run_id}).fetchall()]
        if step not in existing:
            steps = f"it has steps {', '.join(map(str, existing))}" if existing else "it has no steps"
            raise UsageError(f"run {run_id} has no step {step}; {steps}")
    return Side(run, step, tuple(problem_text(*problem) for problem in problems))


def notes(sides: Sequence[Side]) -> Iterator[str]:
    """Notes that a reader needs before the figures."""
    for one in sides:
        run = one.run
        if run["device_source"] in _WITHOUT_ACTIVITIES:
            known = " that is understood" if run["not_understood_count"] else ""
            yield f"{run['run_id']}: {_WITHOUT_ACTIVITIES[run['device_source']].format(known=known)}"
        if run["profiler_level"] in _SHALLOW:
            missing = "types, shapes and units of kernels, tasks of collectives and calls of CANN"
            yield f"{run['run_id']}: recorded at {run['profiler_level']}; for {missing} record at Level1 or above"
        for problem in one.problems:
            yield f"{run['run_id']}: {problem}"
    counts = [one.run["step_count"] for one in sides]
    if counts[0] != counts[1] and sides[0].step is None and sides[1].step is None:
        recorded = f"the runs recorded {counts[0]} and {counts[1]} steps: compare per-step averages, not totals"
        without = [one.run["run_id"] for one in sides if not _averages(one.run)]
        yield (
            f"{recorded}, but {' and '.join(without)} recorded no complete step"
            if without
            else f"{recorded} (--average-step)"
        )


def _averages(run: Mapping[str, Any]) -> bool:
    """Does a run have steps to average? In a run without device activities, every step counts as complete."""
    complete = run["complete_step_count"]
    return bool(run["step_count"] if complete is None else complete)
