"""Columns of a source that is a table: spellings of one column, units of its values, and what becomes of the rest.

A layout says which raw table the rows belong to and where its columns come from. Columns that a layout does not know
are kept as JSON in `args`; a column that the source does not have is NULL. `N/A` and nothing are no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from pipeline.schema import RAW_TABLES

_NOTHING = frozenset({"", "N/A"})
_INT64 = range(-(1 << 63), 1 << 63)


def text(value: Any) -> str | None:
    """A value without the blanks and the tab that keep spreadsheets from rounding it; None for nothing and `N/A`."""
    if value is None:
        return None
    stripped = str(value).strip()
    return None if stripped in _NOTHING else stripped


def shapes(value: Any) -> str | None:
    """A list of shapes without the quotes that are around it."""
    known = text(value)
    return text(known.strip('"')) if known else None


def scaled(factor: int) -> Callable[[Any], int | None]:
    """Reader of a decimal number in a unit, as a whole number of the unit that is `factor` times smaller.

    Exact (no float on the way); digits below are rounded, half away from zero. None for anything but finite numbers.
    """

    def read(value: Any) -> int | None:
        if isinstance(value, float):
            value = repr(value)
        try:
            number = Decimal(text(value) or "NaN") if not isinstance(value, int) else Decimal(value)
        except InvalidOperation:
            return None
        if not number.is_finite() or number.adjusted() > 30:
            return None
        whole = int((number * factor).to_integral_value(ROUND_HALF_UP))
        return whole if whole in _INT64 else None

    return read


def device(value: Any) -> int | None:
    """Number of a device: `4`, or the one in `NPU:4`."""
    match = re.fullmatch(r"(?:NPU:)?(\d{1,9})", text(value) or "")
    return int(match[1]) if match else None


def unnumbered(value: Any) -> str | None:
    """A name without the number of its call, `MatMul` for `MatMul_12`."""
    known = text(value)
    return re.sub(r"_\d+$", "", known) if known else None


whole = scaled(1)
microseconds = scaled(1_000)
milliseconds = scaled(1_000_000)
kibibytes = scaled(1 << 10)
mebibytes = scaled(1 << 20)
megabytes = scaled(1_000_000)  # what CANN's analysis of collectives calls MB
thousand_kibibytes = scaled(1_000 << 10)  # what MindSpore's samples of memory call MB


@dataclass(frozen=True)
class From:
    """Where a column of a raw table comes from: spellings in order of preference, and the reader of its values."""

    read: Callable[[Any], Any]
    spellings: tuple[str, ...]

    def __init__(self, read: Callable[[Any], Any], *spellings: str) -> None:
        object.__setattr__(self, "read", read)
        object.__setattr__(self, "spellings", spellings)


@dataclass(frozen=True)
class Layout:
    """How rows of a source become rows of a raw table. `constants` are the same in every row.

    A column comes from the first spelling that the source has; where spellings differ in their unit, there are several
    `From`, in order of preference.
    """

    table: str
    columns: Mapping[str, From | tuple[From, ...]]
    constants: Mapping[str, Any] = field(default_factory=dict)

    def batch(self, names: Sequence[str], columns: Sequence[Sequence[Any]], first: int) -> pa.RecordBatch:
        """Rows of the raw table from columns of values; `event_index` counts from `first`."""
        schema = RAW_TABLES[self.table]
        given = dict(zip(names, columns, strict=True))
        size = len(columns[0]) if columns else 0
        rows: dict[str, Sequence[Any]] = {name: [None] * size for name in schema.names}
        rows["event_index"] = range(first, first + size)
        rows |= {name: [value] * size for name, value in self.constants.items()}
        taken = set()
        for column, sources in self.columns.items():
            for source in (sources,) if isinstance(sources, From) else sources:
                spelling = next((name for name in source.spellings if name in given), None)
                if spelling is not None:
                    rows[column] = [source.read(value) for value in given[spelling]]
                    taken.add(spelling)
                    break
        rows["args"] = _rest({name: values for name, values in given.items() if name not in taken}, size)
        return pa.RecordBatch.from_pydict({name: list(values) for name, values in rows.items()}, schema=schema)


def has_columns(head: bytes, *needed: str) -> bool:
    """Does the beginning of a file look like a CSV whose header has these columns?"""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    return set(needed) <= {name.strip().strip('"') for name in line.split(",")}


def _rest(columns: Mapping[str, Iterable[Any]], size: int) -> list[str | None]:
    """The columns that no layout knows, as one JSON object a row."""
    if not columns:
        return [None] * size
    rows = zip(*([text(value) for value in values] for values in columns.values()), strict=True)
    found = ({name: value for name, value in zip(columns, row, strict=True) if value is not None} for row in rows)
    return [json.dumps(row, ensure_ascii=False) if row else None for row in found]
