"""Alignment of two sequences, or trees of sequences, that are not the same: what comparisons in detail pair by.

SQL cannot say it in a bounded time, so it is a function in SQL: a view collects the nodes of trees in order, and
`align_trees` answers with pairs of them. It knows nothing of what is aligned.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType
from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes

# A longest common subsequence needs a bit for each pair of elements. Sequences with more pairs than this (64 MiB) are
# first cut by an edit distance, which rapidfuzz computes in linear memory.
CELLS = 1 << 29

Pair = tuple[int | None, int | None]
Match = tuple[int, int]
_SIDES = ("base", "comparison", "base_parent", "comparison_parent")
_FIELDS = ("place", *_SIDES, "level")
_NONE = 0
_TREE: Any = "STRUCT(node BIGINT, parent_node BIGINT, alignment_key VARCHAR, is_wrapper BOOLEAN)[]"
_ANSWER: Any = f"STRUCT({', '.join(f'{name} BIGINT' for name in _FIELDS)})[]"


def install_alignment(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `align_trees(base, comparison)` to a connection.

    A tree lists its nodes in order: a number, that of the node around it, the key that it is paired by, and whether it
    is a wrapper, which may be looked through. A node whose parent is not in the list stands at the root; NULL is a tree
    without nodes. The answer lists pairs of nodes from top to bottom, children below their parents, NULL where a node
    has no partner; each with its place, from 1, with the pair that it is a child of, NULL at the root, and with its
    level, 1 at the root.
    """
    connection.create_function(
        "align_trees",
        _align_batch,
        [_TREE, _TREE],
        _ANSWER,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _align_batch(base: pa.ChunkedArray, comparison: pa.ChunkedArray) -> pa.Array:
    offsets, parts = [0], []
    for one, other in zip(base, comparison, strict=True):
        pairs = _align(_nodes(one, base.type), _nodes(other, comparison.type))
        offsets.append(offsets[-1] + len(pairs))
        parts.append(pairs)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(parts))


def _nodes(tree: pa.ListScalar, kind: pa.ListType) -> pa.StructArray:
    return tree.values if tree.is_valid else pa.array([], kind.value_type)


def _align(base: pa.StructArray, comparison: pa.StructArray) -> pa.StructArray:
    ours, theirs = _numbered(base.field("alignment_key"), comparison.field("alignment_key"))
    columns = [array("q") for _ in (*_SIDES, "level")]
    around: list[Pair] = []
    for pair, parent in aligned_trees(_tree(base, ours), _tree(comparison, theirs)):
        while around and around[-1] != parent:
            around.pop()
        around.append(pair)
        for column, number in zip(columns, (*pair, *parent, len(around)), strict=True):
            column.append(_NONE if number is None else number)
    *places, levels = (
        pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(column)]) for column in columns
    )
    nodes = (
        tree.field("node").take(pc.if_else(pc.equal(found, _NONE), None, pc.subtract(found, 1)))
        for tree, found in zip((base, comparison) * 2, places, strict=True)
    )
    return pa.StructArray.from_arrays([pa.array(range(1, len(levels) + 1), pa.int64()), *nodes, levels], _FIELDS)


def _numbered(base: pa.Array, comparison: pa.Array) -> tuple[list[int], list[int]]:
    """Keys as numbers, the same for the same text."""
    encoded = pa.chunked_array([base, comparison]).dictionary_encode()
    numbers = [number for side in encoded.chunks for number in side.indices.to_pylist()]
    return numbers[: len(base)], numbers[len(base) :]


def _tree(nodes: pa.StructArray, keys: Sequence[int]) -> Tree:
    parents = pc.index_in(nodes.field("parent_node"), value_set=nodes.field("node"), skip_nulls=True)
    wrappers = pc.indices_nonzero(nodes.field("is_wrapper"))
    return Tree(pc.add(parents, 1).to_pylist(), keys, pc.add(wrappers, 1).to_pylist())


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
        keys, other_keys = [base.keys[i - 1] for i in ours], [comparison.keys[j - 1] for j in theirs]
        if keys == other_keys:  # most are, and most are short
            return list(zip(ours, theirs, strict=True))
        matched = aligned(keys, other_keys)
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

    In a gap what the base has comes first. Beyond CELLS pairs the sequences are cut where no key crosses; the
    subsequence of a piece that is still larger is that of an edit distance, extended within each of its gaps.
    """
    place = other_place = 0
    for i, j in chain(_matches(base, comparison), [(len(base), len(comparison))]):
        yield from zip(range(place, i), repeat(None))
        yield from zip(repeat(None), range(other_place, j))
        if i < len(base):
            yield i, j
        place, other_place = i + 1, j + 1


def _matches(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Match]:
    """The pairs of both sides."""
    if not base or not comparison:
        return
    start = _common(base, comparison)
    end = _common(base[start:][::-1], comparison[start:][::-1])
    ends = len(base) - end, len(comparison) - end
    yield from zip(range(start), range(start), strict=True)
    yield from _moved(_middle(base[start : ends[0]], comparison[start : ends[1]]), start, start)
    yield from zip(range(ends[0], len(base)), range(ends[1], len(comparison)), strict=True)


def _common(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(base, comparison, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(base), len(comparison)))


def _middle(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Match]:
    if not base or not comparison:
        return
    if len(base) * len(comparison) <= CELLS:
        yield from _equal(LCSseq.opcodes(base, comparison))
        return
    for (start, other_start), (end, other_end) in pairwise(_cuts(base, comparison)):
        ours, theirs = base[start:end], comparison[other_start:other_end]
        if len(ours) * len(theirs) <= CELLS:
            found = _equal(LCSseq.opcodes(ours, theirs))
        else:
            found = _within_gaps(ours, theirs, _equal(Levenshtein.opcodes(ours, theirs)))
        yield from _moved(found, start, other_start)


def _cuts(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Match]:
    """Where both can be cut, ends included, such that no key is before a cut on one side and behind it on the other."""
    last = {key: place for place, key in enumerate(base)}
    other_last = {key: place for place, key in enumerate(comparison)}
    first, other_first = (
        {key: len(side) - 1 - place for place, key in enumerate(reversed(side))} for side in (base, comparison)
    )
    keys = [key for key in last if key in other_last]  # by their first places in the base
    ahead = list(accumulate((other_first[key] for key in reversed(keys)), min))[::-1]
    yield 0, 0
    behind = other_behind = -1
    for key, other_start in zip(keys, ahead, strict=True):
        if first[key] > behind and other_start > other_behind:
            yield first[key], other_start
        behind, other_behind = max(behind, last[key]), max(other_behind, other_last[key])
    yield len(base), len(comparison)


def _within_gaps(base: Sequence[Hashable], comparison: Sequence[Hashable], found: Iterator[Match]) -> Iterator[Match]:
    """The matches, and what a longest common subsequence finds between them where it can be afforded."""
    place = other_place = 0
    for i, j in chain(found, [(len(base), len(comparison))]):
        if place < i and other_place < j and (i - place) * (j - other_place) <= CELLS:
            codes = LCSseq.opcodes(base[place:i], comparison[other_place:j])
            yield from _moved(_equal(codes), place, other_place)
        if i < len(base):
            yield i, j
        place, other_place = i + 1, j + 1


def _equal(codes: Opcodes) -> Iterator[Match]:
    """The matches of an edit script."""
    for code in codes:
        if code.tag == "equal":
            yield from zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True)


def _moved(found: Iterator[Match], by: int, other_by: int) -> Iterator[Match]:
    return ((i + by, j + other_by) for i, j in found)
