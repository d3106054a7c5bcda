"""This checkout, and the real traces and given cases that lie beside it, where they exist."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real traces is not here")
# What is large takes most of the time of all tests; checks with a limit of time leave it out.
SMALL_ALONE = bool(os.environ.get("TRACEMILL_SMALL_TRACES"))
SMALL_TRACE = 8 << 10
TRACES = sorted(
    trace for trace in (SHARED / "traces").glob("*.json.gz") if not SMALL_ALONE or trace.stat().st_size <= SMALL_TRACE
)
needs_time = pytest.mark.skipif(SMALL_ALONE, reason="large recordings are left out")
CASES = SHARED / "cases"
