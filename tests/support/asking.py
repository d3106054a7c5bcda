"""Short ways to ask a warehouse from a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pipeline


def rows(house: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of a query as dicts."""
    return pipeline.query(sql, warehouse=house).to_pylist()


def pairs(house: Path, sql: str) -> dict[Any, Any]:
    """A query of two columns as a dict."""
    return {key: value for key, value in (row.values() for row in rows(house, sql))}


def overall(house: Path, run_id: str, step: int | None = None) -> dict[str, int]:
    """Metrics of a run's only device, in nanoseconds."""
    scope = "step is null" if step is None else f"step = {step}"
    return pairs(house, f"select metric, duration_ns from marts.overall where run_id = '{run_id}' and {scope}")
