"""Alignment of two sequences, or trees of sequences, that are not the same: what comparisons in detail pair by.

SQL cannot say it in a bounded time, so it is a function in SQL: the views collect keys in order, and `align_trees`
answers with pairs of places. It knows nothing of what is aligned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType
from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes

# A longest common subsequence needs a bit for each pair of elements. Sequences with more pairs than this (64 MiB) are
# first cut by an edit distance, which rapidfuzz computes in linear memory.
CELLS = 1 << 29

Pair = tuple[int | None, int | None]
_FIELDS = ("base", "comparison", "base_parent", "comparison_parent")
_NO_PLACES = pa.array([], pa.int64())
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
    columns = (base_parents, base_keys, comparison_parents, comparison_keys)
    offsets, parts = [0], []
    for row in zip(*(column.to_pylist() for column in columns), strict=True):
        pairs = [pair + parent for pair, parent in aligned_trees(*row)]
        offsets.append(offsets[-1] + len(pairs))
        parts.append(
            [pa.array(places, pa.int64()) for places in zip(*pairs, strict=True)] or [_NO_PLACES] * len(_FIELDS)
        )
    fields = [pa.concat_arrays(places) for places in zip(*parts, strict=True)]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, _FIELDS))


def aligned_trees(
    base_parents: Sequence[int | None],
    base_keys: Sequence[str],
    comparison_parents: Sequence[int | None],
    comparison_keys: Sequence[str],
) -> Iterator[tuple[Pair, Pair]]:
    """Pairs of places (from 1) of two trees, depth first, each with the pair that it is a child of.

    Only children of a pair are paired with each other.
    """
    base, comparison = _children(base_parents), _children(comparison_parents)
    numbers: dict[str, int] = {}
    base_numbers = [numbers.setdefault(key, len(numbers)) for key in base_keys]
    comparison_numbers = [numbers.setdefault(key, len(numbers)) for key in comparison_keys]

    def below(pair: tuple[int | None, int | None]) -> Iterator[Pair]:
        ours = base.get(pair[0], []) if pair[0] is not None else []
        theirs = comparison.get(pair[1], []) if pair[1] is not None else []
        matched = aligned([base_numbers[i - 1] for i in ours], [comparison_numbers[i - 1] for i in theirs])
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


def aligned(base: Sequence[int], comparison: Sequence[int]) -> Iterator[Pair]:
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


def _common(base: Sequence[int], comparison: Sequence[int]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(base, comparison, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(base), len(comparison)))


def _middle(base: Sequence[int], comparison: Sequence[int]) -> Iterator[Pair]:
    if not base or not comparison:
        return _unpaired(range(len(base)), range(len(comparison)))
    if len(base) * len(comparison) <= CELLS:
        return _by_opcodes(LCSseq.opcodes(base, comparison))
    return _within_gaps(base, comparison, _by_opcodes(Levenshtein.opcodes(base, comparison)))


def _within_gaps(base: Sequence[int], comparison: Sequence[int], pairs: Iterator[Pair]) -> Iterator[Pair]:
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
