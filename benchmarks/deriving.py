"""What each result that is kept per run costs: microseconds of CPU per event, for traces of growing size.

usage: deriving.py [TRACE...]     (without one: generated traces of 10, 30 and 100 MB, with calls of modules)

Each trace is ingested in a process of its own, its results one after another. A result whose microseconds grow with
the size of the trace takes more than linear time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pipeline  # noqa: E402
from fixtures.make_fixtures import demo_models, write_trace  # noqa: E402
from pipeline.warehouse import derivation  # noqa: E402

SIZES_MB = (10, 30, 100)
# With a limit of memory, results are computed one by one.
ONE_BY_ONE = pipeline.ReadOptions(memory="1GB", workers=1)


def measure(trace: Path) -> dict[str, float]:
    """Ingest a trace. Returns the CPU microseconds per event of each result, and the peak of memory in MiB."""
    import resource  # noqa: PLC0415

    seconds: dict[str, float] = {}
    write = derivation._write

    def timed(view, *arguments):  # type: ignore[no-untyped-def]
        started = time.process_time()
        parts = write(view, *arguments)
        seconds[view.qualified] = time.process_time() - started
        return parts

    derivation._write = timed
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as house:
        pipeline.ingest(trace, warehouse=house, options=ONE_BY_ONE)
        (run,) = pipeline.query("select event_count from marts.run", warehouse=house).to_pylist()
    found = {name: 1e6 * value / run["event_count"] for name, value in seconds.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"events": run["event_count"], "all results": sum(found.values()), "peak MiB": peak} | found


def main() -> None:
    """Print a table with a column for each trace, the most expensive results first."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory(prefix="tracemill-bench-") as folder:
        traces = [Path(name) for name in sys.argv[1:]]
        for size in () if traces else SIZES_MB:
            traces.append(Path(folder) / f"{size}MB.json")
            write_trace(demo_models()[0], traces[-1], None, size * 1_000_000)
        found = []
        for trace in traces:
            done = subprocess.run(
                [sys.executable, __file__, "--one", trace], check=True, capture_output=True, text=True
            )
            found.append(json.loads(done.stdout))
    print(f"| CPU µs per event | {' | '.join(trace.stem for trace in traces)} |\n|---|{'---:|' * len(traces)}")
    totals = ("events", "peak MiB", "all results")
    results = sorted(found[-1].keys() - set(totals), key=lambda name: -found[-1][name])
    for name in (*totals, *results):
        digits = ",.0f" if name in totals[:2] else ",.2f"
        print(f"| {name} | {' | '.join(format(one[name], digits) for one in found)} |")


if __name__ == "__main__":
    main()
