"""Alignment of two sequences by their longest common subsequence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat

from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes

# The longest common subsequence needs one bit per pair of elements. With more pairs than this (64 MiB), sequences are
# cut into pieces first; a piece that is still larger is aligned by an edit distance, which needs linear memory.
CELLS = 1 << 29
# Runs of this many elements are looked for that occur once on each side: the shorter ones first, since they are closer
# together.
_RUNS = (1, 4, 16)
# How often the pieces between such runs are cut again.
_DEPTH = 8

Pair = tuple[int | None, int | None]
Match = tuple[int, int]


def aligned(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> Iterator[Pair]:
    """Align two sequences by their longest common subsequence; yields pairs of places (from 0), in order.

    In a gap the elements of the base come first. Sequences with more than CELLS pairs of elements are first cut where
    no key crosses the cut, then at runs of elements that occur once on each side (Bram Cohen's patience diff). A piece
    that is still larger is aligned by edit distance, and each gap that this leaves by its own longest common
    subsequence.
    """
    place = other_place = 0
    for i, j in chain(_matches(base, comparison), [(len(base), len(comparison))]):
        yield from zip(range(place, i), repeat(None))
        yield from zip(repeat(None), range(other_place, j))
        if i < len(base):
            yield i, j
        place, other_place = i + 1, j + 1


def _matches(base: Sequence[Hashable], comparison: Sequence[Hashable], depth: int = _DEPTH) -> Iterator[Match]:
    """The pairs that have an element on both sides."""
    if not base or not comparison:
        return
    start = _common(base, comparison)
    end = _common(base[start:][::-1], comparison[start:][::-1])
    ends = len(base) - end, len(comparison) - end
    yield from zip(range(start), range(start), strict=True)
    yield from _moved(_middle(base[start : ends[0]], comparison[start : ends[1]], depth), start, start)
    yield from zip(range(ends[0], len(base)), range(ends[1], len(comparison)), strict=True)


def _common(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(base, comparison, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(base), len(comparison)))


def _middle(base: Sequence[Hashable], comparison: Sequence[Hashable], depth: int) -> Iterator[Match]:
    if not base or not comparison:
        return
    if len(base) * len(comparison) <= CELLS:
        yield from _equal(LCSseq.opcodes(base, comparison))
        return
    # An element whose key the other side lacks has no partner, so only the others are cut into pieces.
    common = set(base).intersection(comparison)
    kept, other_kept = ([place for place, key in enumerate(side) if key in common] for side in (base, comparison))
    base, comparison = [base[place] for place in kept], [comparison[place] for place in other_kept]
    for (start, other_start), (end, other_end) in pairwise(_cuts(base, comparison)):
        for i, j in _of_piece(base[start:end], comparison[other_start:other_end], depth):
            yield kept[start + i], other_kept[other_start + j]


def _of_piece(base: Sequence[Hashable], comparison: Sequence[Hashable], depth: int) -> Iterator[Match]:
    if len(base) * len(comparison) <= CELLS:
        yield from _equal(LCSseq.opcodes(base, comparison))
    elif depth and (anchors := _anchors(base, comparison)):
        place = other_place = 0
        for i, j in chain(anchors, [(len(base), len(comparison))]):
            found = _matches(base[place:i], comparison[other_place:j], depth - 1)
            yield from _moved(found, place, other_place)
            place, other_place = i, j
    else:
        yield from _within_gaps(base, comparison, _equal(Levenshtein.opcodes(base, comparison)))


def _anchors(base: Sequence[Hashable], comparison: Sequence[Hashable]) -> list[Match]:
    """Where runs start that occur once on each side and are in the same order on both, as many as there can be."""
    for length in _RUNS:
        ours, theirs = _once(base, length), _once(comparison, length)
        if found := _rising([(i, theirs[run]) for run, i in ours.items() if run in theirs]):
            return found
    return []


def _once(side: Sequence[Hashable], length: int) -> dict[tuple[Hashable, ...], int]:
    """The places of the runs of this length that occur once, in order."""
    found: dict[tuple[Hashable, ...], int] = {}
    for place, run in enumerate(zip(*(side[start:] for start in range(length)), strict=False)):
        found[run] = -1 if run in found else place
    return {run: place for run, place in found.items() if place >= 0}


def _rising(matches: Sequence[Match]) -> list[Match]:
    """The longest choice of matches, sorted by their first places, whose second places rise too."""
    ends: list[int] = []  # for each length, the least second place at which a choice of that length ends
    chosen: list[int] = []  # and the match there
    before: list[int] = []  # for each match, the one before it in its choice
    for number, (_, place) in enumerate(matches):
        length = bisect_left(ends, place)
        before.append(chosen[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        chosen[length : length + 1] = [number]
    found = []
    number = chosen[-1] if chosen else -1
    while number >= 0:
        found.append(matches[number])
        number = before[number]
    return found[::-1]


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
