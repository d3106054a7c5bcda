"""The same comparison by other tools, each installed in its own environment.

TRACEMILL_BENCH_MSPROF is the path of Python in an environment with `msprof-analyze==26.2.0`, TRACEMILL_BENCH_HTA that
in one with `HolisticTraceAnalysis`. A tool whose variable is not set is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.stage import Stage, run

VARIABLES = ("TRACEMILL_BENCH_MSPROF", "TRACEMILL_BENCH_HTA")
_TRACE_DIFF = """
import sys
from hta.common.trace import Trace
from hta.trace_diff import LabeledTrace, TraceDiff
base, new = (
    LabeledTrace(label, Trace(trace_files={0: path}, trace_dir=""))
    for label, path in zip(("base", "new"), sys.argv[1:3])
)
print(len(TraceDiff.compare_traces(base, new)))
print({key: len(names) for key, names in TraceDiff.ops_diff(base, new).items()})
"""


def comparisons(base: Path, new: Path, folder: Path) -> Iterator[Stage]:
    """Compare two traces with each available tool. The tools write into `folder`."""
    msprof, hta = (Path(found).absolute() if (found := os.environ.get(name)) else None for name in VARIABLES)
    if msprof:
        tool = str(msprof.with_name("msprof-analyze"))
        command = [tool, "compare", "-d", str(new), "-bp", str(base), "--output_path", str(folder)]
        stage = run("msprof-analyze compare", command, folder)
        if not list(folder.glob("*.xlsx")):
            raise SystemExit(f"msprof-analyze wrote no workbook\n{stage.output[-2000:]}")
        yield stage
    if hta:
        yield run("HTA TraceDiff", [str(hta), "-c", _TRACE_DIFF, str(base), str(new)], folder)
