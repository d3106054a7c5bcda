"""Alignment of two sequences, or trees of sequences, that are not the same: what comparisons in detail pair by.

SQL cannot say it in a bounded time, so it is a function in SQL: the views collect keys in order, and `align_trees`
answers with pairs of places. It knows nothing of what is aligned.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
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
_FIELDS = ("base", "comparison", "base_parent", "comparison_parent")
_NONE = -1
_ARGUMENTS: list[Any] = ["BIGINT[]", "VARCHAR[]", "BIGINT[]", "VARCHAR[]"]
_ANSWER: Any = f"STRUCT({', '.join(f'{name} BIGINT' for name in _FIELDS)})[]"


def install_alignment(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `align_trees(base_parents, base_keys, comparison_parents, comparison_keys)` to a connection.

    Keys are in the order of their sequences; parents are places in the same list, from 1, NULL at the root. The answer
    lists pairs of places from top to bottom, children below their parents, NULL where an element has no partner; each
    with the pair that it is a child of, NULL at the root.
    """
    connection.create_function("align_trees", _align_batch, _ARGUMENTS, _ANSWER, type=PythonUDFType.ARROW)


def _align_batch(
    base_parents: pa.ChunkedArray,
    base_keys: pa.ChunkedArray,
    comparison_parents: pa.ChunkedArray,
    comparison_keys: pa.ChunkedArray,
) -> pa.Array:
    offsets, parts = [0], []
    for row in range(len(base_keys)):
        ours, theirs = _numbered(base_keys[row], comparison_keys[row])
        pairs = _places(aligned_trees(base_parents[row].as_py(), ours, comparison_parents[row].as_py(), theirs))
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
    for pair, parent in pairs:
        for column, place in zip(columns, pair + parent, strict=True):
            column.append(_NONE if place is None else place)
    fields = []
    for column in columns:
        places = pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(column)])
        fields.append(pc.if_else(pc.equal(places, _NONE), pa.scalar(None, pa.int64()), places))
    return pa.StructArray.from_arrays(fields, _FIELDS)


def aligned_trees(
    base_parents: Sequence[int | None],
    base_keys: Sequence[Hashable],
    comparison_parents: Sequence[int | None],
    comparison_keys: Sequence[Hashable],
) -> Iterator[tuple[Pair, Pair]]:
    """Pairs of places (from 1) of two trees, depth first, each with the pair that it is a child of.

    Only children of a pair are paired with each other.
    """
    base, comparison = _children(base_parents), _children(comparison_parents)

    def below(pair: tuple[int | None, int | None]) -> Iterator[Pair]:
        ours = base.get(pair[0], []) if pair[0] is not None else []
        theirs = comparison.get(pair[1], []) if pair[1] is not None else []
        matched = aligned([base_keys[i - 1] for i in ours], [comparison_keys[i - 1] for i in theirs])
        return ((None if i is None else ours[i], None if j is None else theirs[j]) for i, j in matched)

    stack: list[tuple[Pair, Iterator[Pair]]] = [((None, None), below((0, 0)))]
    while stack:
        parent, pairs = stack[-1]
        pair = next(pairs, None)
        if pair is None:
            stack.pop()
            continue
        yield pair, parent
        if pair[0] in base or pair[1] in comparison:
            stack.append((pair, below(pair)))


def _children(parents: Sequence[int | None]) -> dict[int | None, list[int]]:
    """Places by the place of their parent, 0 for the root."""
    found: dict[int | None, list[int]] = defaultdict(list)
    for place, parent in enumerate(parents, 1):
        found[parent or 0].append(place)
    return dict(found)


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
