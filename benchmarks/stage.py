"""One measured process: wall time, processor time, and peak resident memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACEMILL = [sys.executable, "-m", "pipeline.cli"]


@dataclass(frozen=True)
class Stage:
    """One finished process. If it started others, `peak_mb` is that of the largest one."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: str


def run(name: str, command: list[str], folder: Path = ROOT) -> Stage:
    """Run a command in a folder, and measure it. If it fails, raises SystemExit with the end of its output."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        out.seek(0)
        output = out.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{output[-2000:]}")
    return Stage(name, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)
