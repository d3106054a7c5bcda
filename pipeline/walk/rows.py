"""Turns rows of Arrow batches into tuples of Python values, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa


def tuples(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch, with the named columns; only text may be NULL."""
    return zip(*(batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names), strict=True)


def batch_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as a batch of the schema."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
