"""How values look. Labels, units and marks follow only from a column's semantic type and its name's prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.catalog.header import Column, View

PREFIXES = ("base", "comparison", "diff", "ratio")
# Unit and divisor of a type, for tables that use one unit for a whole column.
COLUMN_UNITS: dict[str, tuple[str, int]] = {
    "duration_ns": ("us", 1_000),
    "bytes": ("MiB", 1 << 20),
    "bandwidth": ("GB/s", 1_000_000_000),
}
_DURATION_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_BYTE_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class Measure:
    """A quantity that a comparison has on both sides; the view may lack its difference or its ratio."""

    name: str
    base: Column
    comparison: Column
    diff: Column | None
    ratio: Column | None


def measures(view: View) -> list[Measure]:
    """The quantities that a comparison has on both sides, in the view's order."""
    columns = {column.name: column for column in view.columns}
    names = [name.removeprefix("base_") for name in columns if name.startswith("base_")]
    return [
        Measure(
            name,
            columns[f"base_{name}"],
            columns[f"comparison_{name}"],
            columns.get(f"diff_{name}"),
            columns.get(f"ratio_{name}"),
        )
        for name in names
        if f"comparison_{name}" in columns and columns[f"base_{name}"].type != "id"
    ]


def prefix(column: Column) -> str | None:
    """The prefix of a column's name: base, comparison, diff or ratio; None for a key or an attribute."""
    head = column.name.split("_", 1)[0]
    return head if head in PREFIXES and "_" in column.name else None


def label(column: Column, *, unit: bool = False) -> str:
    """Title of a column without its side: `base_total_duration_ns` → Total Duration, or Total Duration (us)."""
    name = column.name.split("_", 1)[1] if prefix(column) else column.name
    words = name.removesuffix("_ns").replace("_", " ").title().replace("Diff", "Difference")
    if prefix(column) == "ratio":
        return f"{words} Ratio"
    return f"{words} ({COLUMN_UNITS[column.type][0]})" if unit and column.type in COLUMN_UNITS else words


def text(value: Any, column: Column, *, signed: bool = False) -> str:
    """A value as text, in a unit that fits its size; empty if it was not measured."""
    if value is None:
        return ""
    sign = "+" if signed and value > 0 else ""
    match column.type:
        case "duration_ns":
            return sign + duration(value)
        case "bytes":
            return sign + _scaled(value, _BYTE_UNITS, "B")
        case "bandwidth":
            return f"{sign}{value / 1e9:,.3f} GB/s"
        case "ratio":
            return f"×{value:,.3f}"
        case "share":
            return f"{round(value, 3) + 0.0:.1%}"  # adding 0.0 turns −0.0 into 0.0
        case "count" | "depth":
            return f"{sign}{value:,}"
        case "flag":
            return "yes" if value else "no"
    return str(value)


def duration(nanoseconds: int) -> str:
    """Nanoseconds as ns, µs, ms or s with three decimals."""
    return _scaled(nanoseconds, _DURATION_UNITS, "ns")


def row_text(row: dict[str, Any], column: Column) -> str:
    """A cell of a row, as in `text`, or a mark in place of an undefined ratio."""
    value = row[column.name]
    side = prefix(column)
    if side == "ratio" and value is None:
        name = column.name.removeprefix("ratio_")
        return missing_mark(*(row.get(f"{side}_{name}") is None for side in ("base", "comparison", "diff")))
    return text(value, column, signed=side == "diff")


def missing_mark(base_missing: bool, comparison_missing: bool, diff_missing: bool) -> str:
    """The mark in place of an undefined ratio, by which figures are missing; empty if both sides have one.

    It is `new` or `gone` if one side lacks the row but there is a difference, in which that side counts as 0. Without
    a difference the figure was not measured, and the mark is `not known`.
    """
    if not base_missing and not comparison_missing:
        return ""
    if diff_missing:
        return "not known"
    return "new" if base_missing else "gone"


def is_worse(column: Column, value: Any) -> bool | None:
    """Is a difference for the worse (more time or memory)? None if it is 0, missing or of another type."""
    if prefix(column) != "diff" or column.type not in ("duration_ns", "bytes") or not value:
        return None
    return bool(value > 0)


def _scaled(value: int, units: tuple[tuple[int, str], ...], smallest: str) -> str:
    for size, name in units:
        if abs(value) >= size:
            return f"{value / size:,.3f} {name}"
    return f"{value:,} {smallest}"


def printable(text: str) -> str:
    """Text that is safe for a terminal: control characters, which could move the cursor or worse, become U+FFFD."""
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)
