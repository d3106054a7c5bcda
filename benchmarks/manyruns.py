"""Compares two runs of a warehouse repeatedly, in one process, and prints the seconds of each part as JSON.

usage: manyruns.py WAREHOUSE BASE COMPARISON
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import pipeline  # noqa: E402
from pipeline.warehouse.warehouse import Warehouse  # noqa: E402

TIMES = 7


def median(part: Callable[[], object]) -> float:
    """Median of the processor seconds of a part, after one run to warm up."""
    part()
    found = []
    for _ in range(TIMES):
        started = time.process_time()
        part()
        found.append(time.process_time() - started)
    return statistics.median(found)


def main() -> None:
    """Measure the parts of a warm comparison that could grow with the number of runs."""
    folder, base, comparison = sys.argv[1:]
    house = Warehouse(Path(folder))

    def connect() -> None:
        with house.open_up_to_date():
            pass

    def bind() -> None:
        with house.open_up_to_date() as connection:
            for view in house.catalog.comparisons:
                where = f"base_run_id = '{base}' and comparison_run_id = '{comparison}'"
                connection.execute(f"explain select * from {view.qualified} where {where}").fetchall()

    def rebuild() -> None:
        house.database.unlink()
        house.refresh()

    parts = {
        "compare, warm": lambda: pipeline.compare(base, comparison, warehouse=folder),
        "… reading the manifests": house.manifests,
        "… opening the warehouse": connect,
        "… opening it and planning every comparison": bind,
        "building the database again (after each ingest)": rebuild,
    }
    print(json.dumps({name: median(part) for name, part in parts.items()}))


if __name__ == "__main__":
    main()
