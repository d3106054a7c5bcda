"""Real traces and given cases that lie beside a checkout, where they exist."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real traces is not here")
# Traces above this many bytes take most of the time of all tests; checks with a limit of time leave them out.
SMALL_TRACE = 40 << 10
TRACES = sorted(
    trace
    for trace in (SHARED / "traces").glob("*.json.gz")
    if not os.environ.get("TRACEMILL_SMALL_TRACES") or trace.stat().st_size <= SMALL_TRACE
)
CASES = SHARED / "cases"
