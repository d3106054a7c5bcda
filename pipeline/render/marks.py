"""Marks in place of undefined ratios, for a whole column at a time."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.catalog.header import Column
from pipeline.render import units


def marks(rows: pa.RecordBatch, column: Column) -> pa.Array:
    """The mark of each row by `units.missing_mark`, NULL if it has none. `column` must be a ratio."""
    name = column.name.removeprefix("ratio_")
    missing = [_is_missing(rows, f"{side}_{name}").cast(pa.int8()) for side in ("base", "comparison", "diff")]
    texts = [units.missing_mark(*flags) or None for flags in product((False, True), repeat=3)]
    base, comparison, diff = (pc.multiply(flag, weight) for flag, weight in zip(missing, (4, 2, 1), strict=True))
    return pa.array(texts, pa.string()).take(pc.add(pc.add(base, comparison), diff))


def _is_missing(rows: pa.RecordBatch, name: str) -> pa.Array:
    return rows[name].is_null() if name in rows.schema.names else pa.array([True] * len(rows))
