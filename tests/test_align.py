"""Alignment: order and partners, against a plain dynamic programme, and its bounds of time and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import align
from pipeline.align import aligned, aligned_trees

SEQUENCE = st.lists(st.integers(0, 4), max_size=30)


def paired(pairs):
    return [(i, j) for i, j in pairs if i is not None and j is not None]


def longest(base, comparison):
    """Length of a longest common subsequence, the plain way."""
    row = [0] * (len(comparison) + 1)
    for one in base:
        above = row
        row = [0]
        for j, other in enumerate(comparison):
            row.append(above[j] + 1 if one == other else max(above[j + 1], row[j]))
    return row[-1]


def check(base, comparison, pairs):
    assert [i for i, _ in pairs if i is not None] == list(range(len(base)))
    assert [j for _, j in pairs if j is not None] == list(range(len(comparison)))
    assert all(base[i] == comparison[j] for i, j in paired(pairs))


@given(SEQUENCE, SEQUENCE)
def test_every_element_is_there_once_in_order_and_the_subsequence_is_longest(base, comparison):
    pairs = list(aligned(base, comparison))
    check(base, comparison, pairs)
    assert len(paired(pairs)) == longest(base, comparison)


@given(SEQUENCE, SEQUENCE)
def test_cut_by_an_edit_distance_every_element_is_still_there_once_in_order(base, comparison):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "CELLS", 16)
        pairs = list(aligned(base, comparison))
    check(base, comparison, pairs)


@given(SEQUENCE, st.data())
def test_of_an_insertion_only_what_is_inserted_has_no_partner(base, data):
    place = data.draw(st.integers(0, len(base)))
    inserted = data.draw(st.lists(st.integers(5, 6), max_size=4))
    comparison = base[:place] + inserted + base[place:]
    alone = [comparison[j] for i, j in aligned(base, comparison) if i is None]
    assert alone == inserted


def test_only_children_of_a_pair_are_paired():
    # a(x y) b(x)   against   b(x) c(y)
    pairs = list(aligned_trees([None, 1, 1, None, 4], list("axybx"), [None, 1, None, 3], list("bxcy")))
    assert [pair for pair, _ in pairs] == [(1, None), (2, None), (3, None), (4, 1), (5, 2), (None, 3), (None, 4)]
    top, (a, b, c) = (None, None), [(1, None), (4, 1), (None, 3)]
    assert [parent for _, parent in pairs] == [top, a, a, top, b, top, c]


TREE = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=20)


@given(TREE, TREE)
def test_a_tree_is_listed_whole_with_children_below_their_parents(base, comparison):
    sides = [
        ([(p % (i + 1)) or None for i, (p, _) in enumerate(tree)], [k for _, k in tree]) for tree in (base, comparison)
    ]
    pairs = [pair for pair, _ in aligned_trees(*sides[0], *sides[1])]
    for side, (parents, keys) in enumerate(sides):
        places = [pair[side] for pair in pairs if pair[side] is not None]
        assert sorted(places) == list(range(1, len(keys) + 1))
        assert all(places.index(p) < places.index(i) for i, p in enumerate(parents, 1) if p)
    partner = {i: j for i, j in paired(pairs)}
    for i, j in partner.items():
        assert sides[0][1][i - 1] == sides[1][1][j - 1]
        parent, other = sides[0][0][i - 1], sides[1][0][j - 1]
        assert partner.get(parent) == other


def test_a_deep_tree_needs_no_deep_stack():
    parents = [None, *range(1, 5_000)]
    trees = aligned_trees(parents, ["a"] * 5_000, parents, ["a"] * 5_000)
    assert len(paired(pair for pair, _ in trees)) == 5_000


@pytest.mark.parametrize("kind", ["edited", "unlike"])
def test_a_hundred_thousand_against_as_many_in_ten_seconds_and_a_gigabyte(kind):
    script = f"""
import random, resource, time
from pipeline.align import aligned
numbers = random.Random(1)
base = [numbers.randrange(50) for _ in range(100_000)]
if {kind!r} == "edited":
    comparison = [n for n in base if numbers.random() > 0.02]
else:
    comparison = [numbers.randrange(50) for _ in range(100_000)]
before = time.process_time()
found = sum(i is not None and j is not None for i, j in aligned(base, comparison))
assert time.process_time() - before < 10
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20
print(found, len(comparison))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found, size = map(int, done.stdout.split())
    assert found > (0.99 if kind == "edited" else 0.15) * size
