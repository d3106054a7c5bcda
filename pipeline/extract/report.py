"""What an extractor learns about its source besides rows: facts for `raw.run` and problems for `raw.problem`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipeline.schema import RAW_TABLES


@dataclass
class Problem:
    """One kind of problem: how often it was found, and where first."""

    kind: str
    count: int
    event_index: int | None
    byte_offset: int | None
    detail: str


@dataclass
class Report:
    """Filled by an extractor while it yields batches; complete when the extractor is exhausted.

    `event_count` counts rows; `dropped_count` counts events without a row, which still have an `event_index`.
    """

    rank: int | None = None
    world_size: int | None = None
    device_name: str | None = None
    base_time_ns: int | None = None
    event_count: int = 0
    dropped_count: int = 0
    source_bytes: int = 0
    content_hash: str = ""
    problems: dict[str, Problem] = field(default_factory=dict)

    def read(self, size: int, content_hash: str) -> None:
        """Count a file that was read to its end. A run of several files gets one hash of their hashes."""
        self.source_bytes += size
        both = self.content_hash + content_hash
        self.content_hash = hashlib.sha256(both.encode()).hexdigest() if self.content_hash else content_hash

    @property
    def next_index(self) -> int:
        """The `event_index` of the next row."""
        return self.event_count + self.dropped_count

    def problem(
        self,
        kind: str,
        count: int = 1,
        *,
        event_index: int | None = None,
        byte_offset: int | None = None,
        detail: str = "",
    ) -> None:
        """Count problems of a kind in PROBLEM_KINDS; place and detail of the first one are kept."""
        known = self.problems.get(kind)
        if known is None:
            self.problems[kind] = Problem(kind, count, event_index, byte_offset, storable(detail))
        else:
            known.count += count

    def problem_batch(self) -> pa.RecordBatch:
        """The problems as rows of `raw.problem`."""
        rows: list[dict[str, Any]] = [
            {
                "kind": p.kind,
                "problem_count": p.count,
                "event_index": p.event_index,
                "byte_offset": p.byte_offset,
                "detail": p.detail or None,
            }
            for p in self.problems.values()
        ]
        return pa.RecordBatch.from_pylist(rows, schema=RAW_TABLES["problem"])


def storable(text: str) -> str:
    r"""Text that UTF-8 can encode. Other bytes of a path, which Python has as lone surrogates, are written `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()
