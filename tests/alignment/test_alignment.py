"""Alignment: order and partners, against a plain dynamic programme, and its bounds of time and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.alignment import sequence as align
from pipeline.alignment.sequence import aligned
from pipeline.alignment.tree import Tree, aligned_trees

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


@given(st.lists(st.tuples(SEQUENCE, SEQUENCE), max_size=4))
def test_beyond_the_bound_sequences_are_cut_where_no_key_crosses_and_nothing_is_lost(parts):
    parts = [([9, *base], [9, *comparison]) for base, comparison in parts]  # a beginning that both have
    ours, theirs = ([(n, key) for n, part in enumerate(parts) for key in part[side]] for side in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "CELLS", max((len(base) * len(comparison) for base, comparison in parts), default=0))
        pairs = list(aligned(ours, theirs))
    check(ours, theirs, pairs)
    assert len(paired(pairs)) == sum(longest(*part) for part in parts)


@given(st.permutations(range(12)), st.permutations(range(12)))
def test_beyond_the_bound_keys_that_occur_once_are_aligned_as_well_as_can_be(base, comparison):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "CELLS", 1)
        pairs = list(aligned(base, comparison))
    check(base, comparison, pairs)
    assert len(paired(pairs)) == longest(base, comparison)


def test_beyond_the_bound_runs_that_occur_once_are_partners_where_keys_repeat():
    base = [number * number % 41 for number in range(400)] + [7] * 50 + list("runs") * 2
    comparison = [8] * 30 + base[:200] + [9] * 5 + base[200:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "CELLS", 10_000)
        pairs = list(aligned(base, comparison))
    check(base, comparison, pairs)
    assert len(paired(pairs)) == len(base)


@given(SEQUENCE, st.data())
def test_of_an_insertion_only_what_is_inserted_has_no_partner(base, data):
    place = data.draw(st.integers(0, len(base)))
    inserted = data.draw(st.lists(st.integers(5, 6), max_size=4))
    comparison = base[:place] + inserted + base[place:]
    alone = [comparison[j] for i, j in aligned(base, comparison) if i is None]
    assert alone == inserted


def test_only_children_of_a_pair_are_paired():
    # a(x y) b(x)   against   b(x) c(y)
    pairs = list(aligned_trees(Tree([None, 1, 1, None, 4], "axybx"), Tree([None, 1, None, 3], "bxcy")))
    assert [pair for pair, _ in pairs] == [(1, None), (2, None), (3, None), (4, 1), (5, 2), (None, 3), (None, 4)]
    top, (a, b, c) = (None, None), [(1, None), (4, 1), (None, 3)]
    assert [parent for _, parent in pairs] == [top, a, a, top, b, top, c]


TREE = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=20)


@given(TREE, TREE)
def test_a_tree_is_listed_whole_with_children_below_their_parents(base, comparison):
    sides = [
        ([(p % (i + 1)) or None for i, (p, _) in enumerate(tree)], [k for _, k in tree]) for tree in (base, comparison)
    ]
    pairs = [pair for pair, _ in aligned_trees(Tree(*sides[0]), Tree(*sides[1]))]
    for side, (parents, keys) in enumerate(sides):
        places = [place for pair in pairs if (place := pair[side]) is not None]
        assert sorted(places) == list(range(1, len(keys) + 1))
        assert all(places.index(p) < places.index(i) for i, p in enumerate(parents, 1) if p)
    partner = {i: j for i, j in paired(pairs)}
    for i, j in partner.items():
        assert sides[0][1][i - 1] == sides[1][1][j - 1]
        parent, other = sides[0][0][i - 1], sides[1][0][j - 1]
        assert partner.get(parent) == other


def test_what_is_in_a_wrapper_without_a_partner_is_paired_in_its_place_and_listed_below_it():
    # W(n(a W(b))) z   against   n(a b) z
    base = Tree([None, 1, 2, 2, 4, None], "WnaWbz", [1, 4])
    comparison = Tree([None, 1, 1, None], "nabz")
    n, w, inner = (2, 1), (1, None), (4, None)
    listed = [(w, (None, None)), (n, w), ((3, 2), n), (inner, n), ((5, 3), inner), ((6, 4), (None, None))]
    assert list(aligned_trees(base, comparison)) == listed
    turned = [(pair[::-1], parent[::-1]) for pair, parent in listed]
    assert list(aligned_trees(comparison, base)) == turned
    assert [pair for pair, _ in aligned_trees(base, base)] == [(i, i) for i in range(1, 7)]


def test_wrappers_pair_with_each_other_however_many_are_around_them():
    # D(F(n))   against   F(n), and against   O(D(n))
    nested, sharded, compiled = (
        Tree([None, 1, 2][: len(keys)], keys, wrappers)
        for keys, wrappers in (("DFn", [1, 2]), ("Fn", [1]), ("ODn", [1, 2]))
    )
    assert [pair for pair, _ in aligned_trees(nested, sharded)] == [(1, None), (2, 1), (3, 2)]
    assert [pair for pair, _ in aligned_trees(sharded, nested)] == [(None, 1), (1, 2), (2, 3)]
    assert paired(pair for pair, _ in aligned_trees(nested, compiled)) == [(3, 3)]


def test_a_wrapper_around_a_part_of_what_the_other_side_wraps_is_listed_once():
    # W(a b) c   against   a V(b c): V ends with W
    pairs = list(aligned_trees(Tree([None, 1, 1, None], "Wabc", [1]), Tree([None, None, 2, 2], "aVbc", [2])))
    assert [pair for pair, _ in pairs] == [(1, None), (2, 1), (None, 2), (3, 3), (4, 4)]
    assert [parent for _, parent in pairs] == [(None, None), (1, None), (1, None), (None, 2), (None, None)]


@given(TREE, st.lists(st.booleans(), min_size=20, max_size=20))
def test_wrapped_anywhere_a_tree_pairs_as_if_it_were_not(tree, wrapped):
    """Each element that is wrapped has a wrapper of its own around it."""
    parents, keys = [(p % (i + 1)) or None for i, (p, _) in enumerate(tree)], [k for _, k in tree]
    places, around, others = {}, [], []
    for i, parent in enumerate(parents, 1):
        around.append(parent and places[parent])
        others.append(keys[i - 1])
        if wrapped[i - 1]:
            others[-1] = "W"
            around.append(len(around))
            others.append(keys[i - 1])
        places[i] = len(around)
    wrappers = [place for place, key in enumerate(others, 1) if key == "W"]
    pairs = [pair for pair, _ in aligned_trees(Tree(parents, keys), Tree(around, others, wrappers))]
    assert {i: j for i, j in pairs if i} == places
    assert sorted(j for i, j in pairs if i is None and j) == wrappers


def test_a_deep_tree_needs_no_deep_stack():
    parents = [None, *range(1, 5_000)]
    trees = aligned_trees(Tree(parents, ["a"] * 5_000), Tree(parents, ["a"] * 5_000))
    assert len(paired(pair for pair, _ in trees)) == 5_000
    wrapped = Tree(parents, ["W"] * 4_999 + ["a"], range(1, 5_000))
    assert paired(pair for pair, _ in aligned_trees(Tree([None], "a"), wrapped)) == [(1, 5_000)]


@pytest.mark.parametrize("kind", ["edited", "unlike"])
def test_a_hundred_thousand_against_as_many_in_ten_seconds_and_a_gigabyte(kind):
    script = f"""
import random, resource, time
from pipeline.alignment.sequence import aligned
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
