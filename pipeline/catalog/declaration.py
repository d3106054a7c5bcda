"""The comparison that a relation declares in its header: the keys that pair its rows, and the figures to compare.

-- @comparison kernel_comparison         (name of the mart that compares the relation's rows of two runs)
-- @key input_shapes, kernel_key named common_name as kernel_name
-- @attribute kernel_class
-- @measure total_duration_ns sum, difference, ratio, rank
-- @pairs int_kernel_match
-- @known total_duration_ns by is_host
-- @comparison_order kernel_name
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import CatalogError

TAGS = ("comparison", "key", "attribute", "measure", "pairs", "known", "comparison_order")
# How a measure combines over the steps of a run. `average` is per call (total_… / call_count); `none` does not combine.
ADDS = ("sum", "longest", "shortest", "average", "none")
_TRAITS = ("difference", "ratio", "rank")
_KEY = re.compile(r"(\w+)(?: named (\w+) as (\w+))?")
_KNOWN = re.compile(r"(\w+)(?: by (.+))?")


@dataclass(frozen=True)
class Key:
    """A column by which rows of two runs are paired.

    The comparison shows it as `label`: the value of `name` if all paired rows have the same, else that of `column`.
    """

    column: str
    name: str
    label: str


@dataclass(frozen=True)
class Measure:
    """A figure that a comparison shows for both sides. `adds` is one of ADDS."""

    name: str
    adds: str
    has_difference: bool
    has_ratio: bool
    ranks: bool


@dataclass(frozen=True)
class Declaration:
    """A comparison that a relation declares.

    `pairs` names the view that pairs scopes; rows must also agree with it in every other column that the two share. If
    a side has no value of the measure `known` anywhere in a scope, all differences there are NULL. The expression
    `known_by` divides the scope into parts, for each of which this holds separately.
    """

    name: str
    keys: tuple[Key, ...]
    attributes: tuple[str, ...]
    measures: tuple[Measure, ...]
    pairs: str | None
    known: str | None
    known_by: str | None
    order: str | None


def declaration(path: Path, tags: Sequence[tuple[str, str]]) -> Declaration | None:
    """The comparison that a header's (tag, text) pairs declare. Raises CatalogError if they break the contract."""
    single = {name: text for name, text in tags if name in TAGS}
    if not single.get("comparison"):
        if single:
            raise CatalogError(f"{path}: @{next(iter(single))} belongs to @comparison, which is missing")
        return None
    known = _KNOWN.fullmatch(single.get("known", ""))
    found = Declaration(
        name=single["comparison"],
        keys=tuple(_key(path, part) for part in listed(single.get("key", ""))),
        attributes=listed(single.get("attribute", "")),
        measures=tuple(_measure(path, text) for name, text in tags if name == "measure"),
        pairs=single.get("pairs"),
        known=known and known[1],
        known_by=known and known[2],
        order=single.get("comparison_order"),
    )
    if not found.keys or not found.measures:
        raise CatalogError(f"{path}: @comparison needs @key and @measure")
    return found


def listed(text: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _key(path: Path, text: str) -> Key:
    match = _KEY.fullmatch(text)
    if match is None:
        raise CatalogError(f"{path}: @key needs `column` or `column named column as label`, not {text!r}")
    column, name, label = match.groups()
    return Key(column, name or column, label or column)


def _measure(path: Path, text: str) -> Measure:
    name, _, rest = text.partition(" ")
    adds, *traits = listed(rest) or ("",)
    if adds not in ADDS or not set(traits) <= set(_TRAITS):
        one_of = ", ".join(ADDS)
        raise CatalogError(
            f"{path}: @measure needs a column, one of {one_of}, and any of {', '.join(_TRAITS)}, not {text!r}"
        )
    return Measure(name, adds, *(trait in traits for trait in _TRAITS))
