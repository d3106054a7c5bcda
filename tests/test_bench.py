"""The benchmarks run: what they print has every stage. Their times say nothing here."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.bench import EXTRACT
from tests.support import traces
from tests.support.paths import ROOT

BENCH = ROOT / "benchmarks" / "bench.py"


def test_the_workbook_is_measured_beside_writing_it_cell_by_cell():
    done = subprocess.run([sys.executable, BENCH, "--rows", "20"], check=True, capture_output=True, text=True)
    lines = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [(line[0], len(line)) for line in lines] == [
        ("| stage", 4),
        ("| workbook", 4),
        ("| the same cell by cell", 4),
        ("| making the rows alone", 4),
        ("| ratio", 4),
        ("| the same cell by cell / workbook", 4),
    ]
    assert all(float(figure.strip(" |").replace(",", "")) > 0 for line in lines[1:4] for figure in line[1:])


def test_reading_is_measured_lane_by_lane(tmp_path):
    trace = traces.write(tmp_path / "t.json")
    for lane in ("bulk", "reference"):
        subprocess.run([sys.executable, "-c", EXTRACT, trace, tmp_path / lane, lane], check=True, cwd=ROOT)
        assert (tmp_path / lane / "event" / "part-0000.parquet").is_file()
