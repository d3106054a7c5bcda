"""Alignment of two sequences, or trees of sequences, that are not the same: what comparisons in detail pair by.

SQL cannot say it in a bounded time, so it is a function in SQL: the views collect keys in order, and `align_trees`
answers with pairs of places. It knows nothing of what is aligned.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import PythonUDFType
from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes

# A longest common subsequence needs a bit for each pair of elements. Sequences with more pairs than this (64 MiB) are
# first cut by an edit distance, which rapidfuzz computes in linear memory.
CELLS = 1 << 29

Pair = tuple[int | None, int | None]
_FIELDS = ("base", "comparison", "base_parent", "comparison_parent", "level")
_NONE = -1
_ARGUMENTS: list[Any] = ["BIGINT[]", "VARCHAR[]", "BIGINT[]"] * 2
_ANSWER: Any = f"STRUCT({', '.join(f'{name} BIGINT' for name in _FIELDS)})[]"


def install_alignment(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `align_trees(base_parents, base_keys, base_wrappers, comparison_parents, …)` to a connection.

    Keys are in the order of their sequences; parents are places in the same list, from 1, NULL at the root; wrappers
    are the places of elements that may be looked through. The answer lists pairs of places from top to bottom, children
    below their parents, NULL where an element has no partner; each with the pair that it is a child of, NULL at the
    root, and its level, 1 at the root.
    """
    connection.create_function("align_trees", _align_batch, _ARGUMENTS, _ANSWER, type=PythonUDFType.ARROW)


def _align_batch(
    base_parents: pa.ChunkedArray,
    base_keys: pa.ChunkedArray,
    base_wrappers: pa.ChunkedArray,
    comparison_parents: pa.ChunkedArray,
    comparison_keys: pa.ChunkedArray,
    comparison_wrappers: pa.ChunkedArray,
) -> pa.Array:
    offsets, parts = [0], []
    for row in range(len(base_keys)):
        ours, theirs = _numbered(base_keys[row], comparison_keys[row])
        base = Tree(base_parents[row].as_py(), ours, base_wrappers[row].as_py())
        comparison = Tree(comparison_parents[row].as_py(), theirs, comparison_wrappers[row].as_py())
        pairs = _places(aligned_trees(base, comparison))
        offsets.append(offsets[-1] + len(pairs))
        parts.append(pairs)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(parts))


def _numbered(base: pa.ListScalar, comparison: pa.ListScalar) -> tuple[list[int], list[int]]:
    """Keys as numbers, the same for the same text."""
    numbers = pa.concat_arrays([base.values, comparison.values]).dictionary_encode().indices.to_pylist()
    return numbers[: len(base.values)], numbers[len(base.values) :]


def _places(pairs: Iterator[tuple[Pair, Pair]]) -> pa.StructArray:
    """The pairs as structs of places."""
    columns = [array("q") for _ in _FIELDS]
    around: list[Pair] = []
    for pair, parent in pairs:
        while around and around[-1] != parent:
            around.pop()
        around.append(pair)
        for column, place in zip(columns, (*pair, *parent, len(around)), strict=True):
            column.append(_NONE if place is None else place)
    fields = []
    for column in columns:
        places = pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(column)])
        fields.append(pc.if_else(pc.equal(places, _NONE), pa.scalar(None, pa.int64()), places))
    return pa.StructArray.from_arrays(fields, _FIELDS)


class Tree:
    """Elements in order, at places from 1: the place of the one around each, its key, and which are wrappers."""

    def __init__(self, parents: Sequence[int | None], keys: Sequence[Hashable], wrappers: Collection[int] = ()) -> None:
        self.parents, self.keys = parents, keys
        children: dict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(parents, 1):
            children[parent or 0].append(place)
        self.children = dict(children)
        # Wrappers around something, with how many stand directly one in the other from there on.
        self.heights = {place: 1 for place in wrappers if place in self.children}
        for place in reversed(list(self.heights)):  # from the bottom up, most are right at once
            around, height = parents[place - 1], 2
            while around in self.heights and self.heights[around] < height:
                self.heights[around] = height
                around, height = parents[around - 1], height + 1

    def below(self, place: int | None) -> list[int]:
        """The elements in one, 0 for the root, None for one that is not there."""
        return self.children.get(place, []) if place is not None else []

    def opened(self, places: Iterable[int], wrappers: Container[int]) -> list[int]:
        """Places with what is in these wrappers instead of themselves."""
        return [one for place in places for one in (self.children[place] if place in wrappers else (place,))]

    def between(self, outer: int | None, place: int | None) -> list[int]:
        """The elements around one, from the outside, below an outer one."""
        found = []
        while place and (place := self.parents[place - 1] or 0) != outer:
            found.append(place)
        return found[::-1]


def aligned_trees(base: Tree, comparison: Tree) -> Iterator[tuple[Pair, Pair]]:
    """Pairs of places of two trees, depth first, each with the pair that it is a child of.

    Only children of a pair are paired with each other, where what is in a wrapper without a partner counts as a child
    of what is around that. It is listed below the wrapper all the same.
    """
    stack: list[tuple[Pair, Iterator[tuple[Pair, Pair | None, bool]]]] = [
        ((None, None), _below((0, 0), base, comparison))
    ]
    while stack:
        around, pairs = stack[-1]
        found = next(pairs, None)
        if found is None:
            stack.pop()
            continue
        pair, wrapper, is_open = found
        yield pair, wrapper or around
        if not is_open and (pair[0] in base.children or pair[1] in comparison.children):
            stack.append((pair, _below(pair, base, comparison)))


def _below(around: Pair, base: Tree, comparison: Tree) -> Iterator[tuple[Pair, Pair | None, bool]]:
    """Pairs below a pair, each with the wrapper without a partner that it is in, and whether it is one itself."""
    pairs = _looked_through(base.below(around[0]), comparison.below(around[1]), base, comparison)
    if not (base.heights or comparison.heights):
        yield from ((pair, None, False) for pair in pairs)
        return
    wrappers: list[list[Pair]] = [
        [(place, None) for place in base.between(around[0], one)]
        + [(None, place) for place in comparison.between(around[1], other)]
        for one, other in pairs
    ]
    last = {wrapper: place for place, found in enumerate(wrappers) for wrapper in found}
    open_until: list[tuple[Pair, int]] = []
    for place, (pair, found) in enumerate(zip(pairs, wrappers, strict=True)):
        while open_until and open_until[-1][1] < place:
            open_until.pop()
        for wrapper in found:
            # Each is listed once: where those of both sides overlap, the later one ends with the earlier.
            if wrapper in last:
                outer, end = open_until[-1] if open_until else (None, len(pairs))
                yield wrapper, outer, True
                open_until.append((wrapper, min(last.pop(wrapper), end)))
        yield pair, open_until[-1][0] if open_until else None, False


def _looked_through(ours: list[int], theirs: list[int], base: Tree, comparison: Tree) -> list[Pair]:
    """Pairs of two lists of places. Wrappers without a partner are opened, the highest first, until there are none."""
    while True:
        matched = aligned([base.keys[i - 1] for i in ours], [comparison.keys[j - 1] for j in theirs])
        pairs = [(None if i is None else ours[i], None if j is None else theirs[j]) for i, j in matched]
        alone = {i: base.heights[i] for i, j in pairs if j is None and i in base.heights}
        others = {j: comparison.heights[j] for i, j in pairs if i is None and j in comparison.heights}
        if not (alone or others):
            return pairs
        highest = max(*alone.values(), *others.values(), 0)
        ours = base.opened(ours, {place for place, height in alone.items() if height == highest})
        theirs = comparison.opened(theirs, {place for place, height in others.items() if height == highest})


def aligned(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Pair]:
    """Pairs of places (from 0) of two sequences by their longest common subsequence; all stay in order.

    Beyond CELLS pairs the subsequence is that of an edit distance, extended within each of its gaps.
    """
    start = _common(base, comparison)
    end = _common(base[start:][::-1], comparison[start:][::-1])
    ends = len(base) - end, len(comparison) - end
    yield from ((i, i) for i in range(start))
    for i, j in _middle(base[start : ends[0]], comparison[start : ends[1]]):
        yield (None if i is None else i + start, None if j is None else j + start)
    yield from ((ends[0] + i, ends[1] + i) for i in range(end))


def _common(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(base, comparison, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(base), len(comparison)))


def _middle(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Pair]:
    if not base or not comparison:
        return _unpaired(range(len(base)), range(len(comparison)))
    if len(base) * len(comparison) <= CELLS:
        return _by_opcodes(LCSseq.opcodes(base, comparison))
    return _within_gaps(base, comparison, _by_opcodes(Levenshtein.opcodes(base, comparison)))


def _within_gaps(base: Sequence[Hashable], comparison: Sequence[Hashable], pairs: Iterator[Pair]) -> Iterator[Pair]:
    """The pairs, and what a longest common subsequence finds between them where it can be afforded."""
    ours: list[int] = []
    theirs: list[int] = []
    for pair in chain(pairs, [(-1, -1)]):
        one, other = pair
        if one is None or other is None:
            ours += [] if one is None else [one]
            theirs += [] if other is None else [other]
            continue
        if ours and theirs and len(ours) * len(theirs) <= CELLS:
            codes = LCSseq.opcodes([base[i] for i in ours], [comparison[j] for j in theirs])
            for i, j in _by_opcodes(codes):
                yield (None if i is None else ours[i], None if j is None else theirs[j])
        else:
            yield from _unpaired(ours, theirs)
        ours, theirs = [], []
        if one >= 0:
            yield pair


def _by_opcodes(codes: Opcodes) -> Iterator[Pair]:
    """The pairs of an edit script; in a gap what the base has comes first."""
    place = other_place = 0
    for code in codes:
        if code.tag == "equal":
            yield from _unpaired(range(place, code.src_start), range(other_place, code.dest_start))
            yield from zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True)
            place, other_place = code.src_end, code.dest_end
    yield from _unpaired(range(place, codes.src_len), range(other_place, codes.dest_len))


def _unpaired(base: Sequence[int], comparison: Sequence[int]) -> Iterator[Pair]:
    yield from ((i, None) for i in base)
    yield from ((None, j) for j in comparison)
