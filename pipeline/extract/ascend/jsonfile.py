"""Small JSON files beside a trace, read key by key."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ijson

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.means import Means
from pipeline.extract.report import Report
from pipeline.extract.trace.jsontext import repair, shallow_length

# The largest known, of thousands of ranks, are some tens of megabytes; a larger one is not what its name says.
FILE_LIMIT = 1 << 30


def read_pairs(path: Path, report: Report, means: Means) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) of the object that a file is; numbers are exact.

    Damaged text is mended; a file that ends early, or nests values without end, gives the keys that are complete, and
    is counted as truncated. Raises InputError for a file larger than a gibibyte.
    """
    stream = ByteStream(path, means.progress)
    parts = []
    for block in stream.blocks():
        parts.append(block)
        if stream.size > FILE_LIMIT:
            raise InputError(f"{path}: {FILE_LIMIT >> 30} GiB and more; not a file of the profiler, remove it")
    mended = repair(b"".join(parts).removeprefix(b"\xef\xbb\xbf"))
    if mended.text_changed:
        report.problem("text_repaired", detail=path.name)
    if mended.non_finite:
        report.problem("non_finite", mended.non_finite, detail=path.name)
    text = mended.text[: shallow_length(mended.text)]
    try:
        yield from ijson.kvitems(io.BytesIO(text), "", use_float=False, buf_size=len(text) + 1)
    except ijson.JSONError as error:
        report.problem("truncated", detail=f"{path.name}: {error}")
    report.read(stream.size, stream.content_hash)
