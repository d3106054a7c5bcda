"""Rows of Arrow batches as tuples of Python values, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa


def tuples(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch, of columns without NULL (or of text)."""
    return zip(*(batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names), strict=True)


def batch_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of the rows."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
