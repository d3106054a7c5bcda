"""Real traces and given cases that lie beside a checkout, where they exist."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real traces is not here")
TRACES = sorted((SHARED / "traces").glob("*.json.gz"))
CASES = SHARED / "cases"
