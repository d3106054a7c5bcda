"""Finds the kernels that got slower, in Python: makes two small traces, compares them, and reads a pyarrow table.

    python examples/regressions.py FOLDER

Writes the traces and a warehouse into FOLDER, and prints the kernels whose time grew most.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pipeline
from fixtures.make_fixtures import main as make_fixtures


def main(folder: Path) -> None:
    """Compare two traces and print the kernels whose time grew most."""
    make_fixtures(["demo", str(folder)])
    result = pipeline.compare(
        folder / "base.pt.trace.json.gz",
        folder / "new.pt.trace.json",
        warehouse=folder / "warehouse",
        choice=pipeline.Choice(only=["kernel"]),
    )
    kernels = result.tables["kernel_comparison"].rows
    slower = kernels.filter(kernels["diff_total_duration_ns"].is_valid()).sort_by(
        [("diff_total_duration_ns", "descending")]
    )
    for row in slower.slice(0, 5).to_pylist():
        print(f"{row['diff_total_duration_ns'] / 1e6:+9.3f} ms  {row['kernel_name']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
