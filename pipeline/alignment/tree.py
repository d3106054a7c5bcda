"""Alignment of two trees: the children of a pair are aligned as sequences, from the roots down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence

from pipeline.alignment.sequence import Pair, aligned


class Tree:
    """Elements in order, numbered from 1 by place. Each has its parent's place and a key; some are wrappers."""

    def __init__(self, parents: Sequence[int | None], keys: Sequence[Hashable], wrappers: Collection[int] = ()) -> None:
        self.parents, self.keys = parents, keys
        children: dict[int, list[int]] = defaultdict(list)
        for place, parent in enumerate(parents, 1):
            children[parent or 0].append(place)
        self.children = dict(children)
        # Wrappers that have children, each with the length of the longest chain of nested wrappers that it begins.
        self.heights = {place: 1 for place in wrappers if place in self.children}
        for place in reversed(list(self.heights)):  # from the bottom up, most heights are final at once
            around, height = parents[place - 1], 2
            while around in self.heights and self.heights[around] < height:
                self.heights[around] = height
                around, height = parents[around - 1], height + 1

    def below(self, place: int | None) -> list[int]:
        """The children of an element; 0 stands for the root, None for no element."""
        return self.children.get(place, []) if place is not None else []

    def opened(self, places: Iterable[int], wrappers: Container[int]) -> list[int]:
        """The places, with each of these wrappers replaced by its children."""
        return [one for place in places for one in (self.children[place] if place in wrappers else (place,))]

    def between(self, outer: int | None, place: int | None) -> list[int]:
        """The ancestors of an element below `outer`, outermost first."""
        found = []
        while place and (place := self.parents[place - 1] or 0) != outer:
            found.append(place)
        return found[::-1]


def aligned_trees(base: Tree, comparison: Tree) -> Iterator[tuple[Pair, Pair]]:
    """Pairs of places of two trees, depth first, each with its parent pair.

    Only children of the same pair are paired with each other. If a wrapper has no partner, its children are paired as
    if they stood in its place, but are still listed below it.
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
    """Pairs below a pair: each with the unpaired wrapper around it, if any, and whether it is itself such a wrapper."""
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
            # Each wrapper is listed once. If wrappers of both sides overlap, the later one ends where the earlier does.
            if wrapper in last:
                outer, end = open_until[-1] if open_until else (None, len(pairs))
                yield wrapper, outer, True
                open_until.append((wrapper, min(last.pop(wrapper), end)))
        yield pair, open_until[-1][0] if open_until else None, False


def _looked_through(ours: list[int], theirs: list[int], base: Tree, comparison: Tree) -> list[Pair]:
    """Pair two lists of places; unpaired wrappers are opened, the highest first, until none is left."""
    while True:
        keys, other_keys = [base.keys[i - 1] for i in ours], [comparison.keys[j - 1] for j in theirs]
        if keys == other_keys:  # true of most lists
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
