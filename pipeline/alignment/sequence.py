"""Alignment of two sequences by their longest common subsequence."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat

from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes

# The longest common subsequence needs one bit per pair of elements. With more pairs than this (64 MiB), sequences are
# cut into pieces first; a piece that is still larger is aligned by an edit distance, which needs linear memory.
CELLS = 1 << 29

Pair = tuple[int | None, int | None]
Match = tuple[int, int]


def aligned(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Pair]:
    """Align two sequences by their longest common subsequence; yields pairs of places (from 0), in order.

    In a gap the elements of the base come first. Sequences with more than CELLS pairs of elements are first cut where
    no key crosses the cut. A piece that is still larger is aligned by edit distance, and each gap that this leaves by
    its own longest common subsequence.
    """
    place = other_place = 0
    for i, j in chain(_matches(base, comparison), [(len(base), len(comparison))]):
        yield from zip(range(place, i), repeat(None))
        yield from zip(repeat(None), range(other_place, j))
        if i < len(base):
            yield i, j
        place, other_place = i + 1, j + 1


def _matches(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Match]:
    """The pairs that have an element on both sides."""
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
    """Places to cut both, ends included, so that no key is before a cut on one side and after it on the other."""
    last = {key: place for place, key in enumerate(base)}
    other_last = {key: place for place, key in enumerate(comparison)}
    first, other_first = (
        {key: len(side) - 1 - place for place, key in enumerate(reversed(side))} for side in (base, comparison)
    )
    keys = [key for key in last if key in other_last]  # in order of their first places in the base
    ahead = list(accumulate((other_first[key] for key in reversed(keys)), min))[::-1]
    yield 0, 0
    behind = other_behind = -1
    for key, other_start in zip(keys, ahead, strict=True):
        if first[key] > behind and other_start > other_behind:
            yield first[key], other_start
        behind, other_behind = max(behind, last[key]), max(other_behind, other_last[key])
    yield len(base), len(comparison)


def _within_gaps(base: Sequence[Hashable], comparison: Sequence[Hashable], found: Iterator[Match]) -> Iterator[Match]:
    """The matches, and those of the longest common subsequence of each gap between them, if it has few enough pairs."""
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
