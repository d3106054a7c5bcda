"""The walks by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from pipeline.walk import calls, operators


@dataclass(frozen=True)
class Walk:
    """A function that turns batches of one run's rows into batches of `schema`."""

    run: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    schema: pa.Schema


WALKS = {
    "calls": Walk(calls.walk_calls, calls.SCHEMA),
    "operators": Walk(operators.walk_operators, operators.SCHEMA),
}
