"""Writers killed at random moments beside a reader, in short; `benchmarks/kills.py --kills 100` does it at length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import kills

SCRIPT = Path(kills.__file__)


def test_killed_writers_break_nothing_and_leave_nothing():
    done = subprocess.run([sys.executable, SCRIPT, "--kills", "4"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("4 writers killed, ")
    assert done.stdout.endswith("after the next ingest: every file belongs to a run\n")


def test_what_is_lost_wrong_or_left_over_is_told(tmp_path):
    whole, other = kills.KERNELS[0], kills.KERNELS[1]
    good = f'[{{"a": {whole}}}, {{"a": {whole}}}]\n'
    more = f'[{{"a": {whole}, "b": {other}}}, {{"a": {whole}, "b": {other}}}]\n'
    assert list(kills.judge_answers([good, more])) == []
    assert "['b'] were lost" in "".join(kills.judge_answers([more, good]))
    assert "do not have the events or kernels" in "".join(kills.judge_answers(['[{"a": 3}, {"a": 3}]\n']))
    assert "do not have the events or kernels" in "".join(kills.judge_answers([f'[{{"a": {whole}}}, {{}}]\n']))
    for place in ("runs/a/manifest.json", "raw/run/run_id=a/part-0000.parquet", "warehouse.duckdb"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert list(kills.leftovers(tmp_path)) == []
    left = ["derived/step@1/run_id=b/part-0000.parquet", "runs/a/writer", "tmp/x/views.duckdb"]
    for place in left:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert [str(path.relative_to(tmp_path)) for path in kills.leftovers(tmp_path)] == left
