"""Host calls nest by thread and time: int_call_walk, int_host_call."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.events import annotation, event, kernel, launch, memory, op, step
from tests.support.views import views


def parents(*calls):
    """Name of each call -> name of its parent."""
    house = views(*calls)
    names = house.pairs("select event_index, call_name from staging.stg_host_call")
    tree = house.pairs("select event_index, parent_index from intermediate.int_call_walk")
    return {names[child]: names.get(parent) for child, parent in tree.items() if child in names}


def self_times(*calls):
    return views(*calls).pairs("select call_name, self_duration_ns from intermediate.int_host_call")


# -- the parent ------------------------------------------------------------------------------------------


def test_the_parent_is_the_innermost_call_still_open():
    #   0    5    10   15   20   25   30
    # a ├───────────────────────────────┤
    # b      ├──────────────┤
    # c           ├────┤
    # d                          ├──┤
    calls = [op("a", 0, 30), op("b", 5, 15), op("c", 10, 5), op("d", 25, 3)]
    assert parents(*calls) == {"a": None, "b": "a", "c": "b", "d": "a"}


def test_the_place_in_the_file_does_not_matter():
    calls = [op("d", 25, 3), op("c", 10, 5), op("a", 0, 30), op("b", 5, 15)]
    assert parents(*calls) == {"a": None, "b": "a", "c": "b", "d": "a"}


def test_of_equal_starts_the_longer_is_the_parent():
    # short ├──┤
    # long  ├──────┤
    assert parents(op("short", 10, 5), op("long", 10, 9)) == {"short": "long", "long": None}


def test_of_equal_starts_and_ends_the_first_in_the_file_is_the_parent():
    assert parents(op("first", 10, 5), op("second", 10, 5)) == {"first": None, "second": "first"}


def test_a_call_that_ends_exactly_at_the_start_is_closed():
    # a ├────┤
    # b      ├────┤
    assert parents(op("a", 0, 10), op("b", 10, 10)) == {"a": None, "b": None}


def test_a_nanosecond_of_overlap_makes_a_child():
    assert parents(op("a", 0, 11), op("b", 10, 10)) == {"a": None, "b": "a"}


def test_a_child_may_outlive_its_parent():
    # a ├────────┤
    # b     ├────────┤      still the child of a
    # c           ├─────┤   a has ended, b is open: the child of b
    assert parents(op("a", 0, 10), op("b", 5, 10), op("c", 12, 6)) == {"a": None, "b": "a", "c": "b"}


def test_a_call_ended_inside_a_staircase_does_not_hide_those_below():
    #   0    5    10   15   20   25   30
    # a ├───────────────────────────────┤
    # b    ├────────┤
    # c         ├──────────────┤
    # d                     ├┤      open: a and c, not b
    calls = [op("a", 0, 30), op("b", 3, 9), op("c", 8, 15), op("d", 20, 1)]
    assert parents(*calls) == {"a": None, "b": "a", "c": "b", "d": "c"}


def test_a_staircase_returns_to_the_call_still_open():
    # a ├───────────────────────┤
    # b   ├─────┤
    # c       ├─────┤
    # d                 ├──┤        b and c have ended
    calls = [op("a", 0, 30), op("b", 2, 6), op("c", 5, 7), op("d", 20, 3)]
    assert parents(*calls) == {"a": None, "b": "a", "c": "b", "d": "a"}


def test_a_call_of_no_length_is_a_child_and_never_a_parent():
    # a ├────────┤
    # z     │       no length, at 5
    # b     ├─┤     starts with z, longer, so before it: z is inside b
    # e          │  no length, at the end of a: a is closed
    calls = [op("a", 0, 10), op("z", 5, 0), op("b", 5, 3), op("e", 10, 0)]
    assert parents(*calls) == {"a": None, "b": "a", "z": "b", "e": None}


def test_two_calls_of_no_length_at_one_time_are_siblings():
    assert parents(op("a", 0, 10), op("y", 5, 0), op("z", 5, 0)) == {"a": None, "y": "a", "z": "a"}


def test_threads_and_processes_do_not_nest_in_each_other():
    calls = [
        op("a", 0, 30, tid=1),
        op("b", 5, 10, tid=2),
        op("c", 6, 3, tid=1, pid=99),
        op("d", 6, 3, tid=1),
        op("e", 7, 3, tid=2),
    ]
    assert parents(*calls) == {"a": None, "b": None, "c": None, "d": "a", "e": "b"}


def test_runs_do_not_nest_in_each_other():
    house = views(v1=[op("a", 0, 30)], v2=[op("b", 5, 10)])
    assert house.pairs("select run_id, parent_index from intermediate.int_call_walk") == {"v1": None, "v2": None}


def test_operators_annotations_and_runtime_calls_nest_in_each_other_whatever_their_spelling():
    calls = [
        annotation("forward", 0, 50),
        event("Operator", "aten::mm", 5, 30),
        event("Runtime", "cudaMalloc", 6, 1),
        event("cuda_driver", "cuLaunchKernel", 8, 1),
        event("HIP_runtime", "hipMalloc", 10, 1),
    ]
    assert parents(*calls) == {
        "forward": None,
        "aten::mm": "forward",
        "cudaMalloc": "aten::mm",
        "cuLaunchKernel": "aten::mm",
        "hipMalloc": "aten::mm",
    }


def test_only_complete_host_events_with_a_usable_time_are_calls():
    calls = [
        op("a", 0, 30),
        step(1, 0, 100),
        op("no start", None, 5),
        op("no duration", 3, None),
        op("negative", 4, -1),
        op("instant", 5, 5, phase="i"),
        event("python_function", "f", 6, 5),
        event(None, "no category", 7, 5),
        kernel("k", 8, 5),
        op("", 9, 5),
        op(None, 10, 2),
    ]
    assert views(*calls).rows("select event_index, call_name from staging.stg_host_call order by 1") == [
        (0, "a"),
        (9, ""),
        (10, ""),
    ]


def test_a_step_marker_is_no_call_and_a_name_that_only_looks_like_one_is():
    calls = [step(1, 0, 100), annotation("ProfilerStep#one", 1, 90), annotation("my ProfilerStep#1", 2, 80)]
    assert parents(*calls) == {"ProfilerStep#one": None, "my ProfilerStep#1": "ProfilerStep#one"}


# -- the operators around a call -------------------------------------------------------------------------


def operators(*calls):
    """Place of each entry -> places of the innermost and the outermost operator open at its start."""
    return views(*calls).pairs("select event_index, operator_index, top_operator_index from intermediate.int_call_walk")


def test_innermost_and_outermost_operator_are_counted_through_calls_of_other_kinds():
    # 0 aten::linear ├────────────────────┤
    # 1 note           ├───────────────┤
    # 2 aten::mm          ├─────────┤
    # 3 cudaLaunch          ├──┤
    calls = [op("aten::linear", 0, 40), annotation("note", 2, 30), op("aten::mm", 5, 20), launch("cudaLaunch", 8, 4)]
    assert operators(*calls) == {0: (0, 0), 1: (0, 0), 2: (2, 0), 3: (2, 0)}


def test_an_operator_is_around_itself_and_a_call_outside_has_none():
    calls = [op("aten::mm", 0, 10), launch("cudaLaunch", 20, 4), annotation("note", 30, 5), op("x", 31, 1)]
    assert operators(*calls) == {0: (0, 0), 1: (None, None), 2: (None, None), 3: (3, 3)}


def test_an_operator_that_has_ended_is_around_nothing_even_where_its_child_goes_on():
    # 0 aten::a  ├────────┤
    # 1 note         ├─────────────┤     child of aten::a, outlives it
    # 2 launch               ├──┤        in note; aten::a has ended
    calls = [op("aten::a", 0, 10), annotation("note", 5, 20), launch("cudaLaunch", 15, 2)]
    assert operators(*calls) == {0: (0, 0), 1: (0, 0), 2: (None, None)}


def test_the_outermost_of_a_staircase_is_the_first_still_open():
    # 0 a ├────────┤
    # 1 b     ├─────────┤
    # 2 c             ├─────┤    a has ended: b is the outermost, c itself the innermost
    calls = [op("a", 0, 10), op("b", 5, 10), op("c", 12, 6)]
    assert operators(*calls) == {0: (0, 0), 1: (1, 0), 2: (2, 1)}


def test_a_memory_event_lies_in_the_tree_and_is_around_nothing():
    # 0 a      ├────────┤
    # 1 [mem]      │
    # 2 b          ├──┤     starts at the event's time, longer, so before it
    # 3 [mem]           │   at the end of a: closed
    calls = [op("a", 0, 10), memory(64, at=4), op("b", 4, 3), memory(64, at=10)]
    house = views(*calls)
    columns = "parent_index, operator_index, top_operator_index"
    assert house.pairs(f"select event_index, {columns} from intermediate.int_call_walk") == {
        0: (None, 0, 0),
        1: (2, 2, 0),
        2: (0, 2, 0),
        3: (None, None, None),
    }
    assert house.rows("select event_index from intermediate.int_host_call order by 1") == [(0,), (2,)]


# -- self time -------------------------------------------------------------------------------------------


def test_self_time_is_the_duration_without_direct_children():
    # a ├──────────────────────────────┤ 30
    # b      ├──────────────┤ 15
    # c           ├────┤ 5
    # d                          ├──┤ 3
    calls = [op("a", 0, 30), op("b", 5, 15), op("c", 10, 5), op("d", 25, 3)]
    assert self_times(*calls) == {"a": 30 - 15 - 3, "b": 15 - 5, "c": 5, "d": 3}


def test_a_child_that_outlives_its_parent_takes_only_what_it_covers():
    # a ├────────┤ 10
    # b     ├────────┤ 10, of which 5 inside a
    assert self_times(op("a", 0, 10), op("b", 5, 10)) == {"a": 5, "b": 10}


def test_self_time_is_never_below_zero():
    # a ├────────┤           covered whole by b
    # b ├────────┤ (same)
    # c  ├──────────────┤    child of b
    assert self_times(op("a", 0, 10), op("b", 0, 10), op("c", 1, 30)) == {"a": 0, "b": 1, "c": 30}


# -- the step --------------------------------------------------------------------------------------------


def test_the_step_of_a_call_is_the_one_open_at_its_start_on_any_thread():
    # step       ├──── 1 ────┤├──── 2 ────┤        ends are open, starts are closed
    #            10          20           30
    # 0 before ├──┤
    # 1 inside      ├──────────────┤
    # 2 at the boundary       ├┤
    # 3 other thread              ├┤
    # 4 at the end                         ├┤
    calls = [
        op("before", 9, 3),
        op("inside", 12, 15, tid=3),
        op("at the boundary", 20, 1),
        op("other thread", 24, 1, tid=2),
        op("at the end", 30, 1),
        step(1, 10, 10),
        step(2, 20, 10),
    ]
    assert views(*calls).pairs("select call_name, step from intermediate.int_host_call") == {
        "before": None,
        "inside": 1,
        "at the boundary": 2,
        "other thread": 2,
        "at the end": None,
    }


# -- against a stack in plain Python -----------------------------------------------------------------------

KINDS: dict[str, Any] = {"operator": op, "annotation": annotation, "runtime": launch, "memory": None}


def by_stack(calls):
    """(thread, kind, start, duration) in file order.

    -> {place: (parent, operator around, operator, top operator, self time)}
    """
    found = {}
    for thread in {call[0] for call in calls}:
        ordered = sorted(
            (start, -duration, place, kind)
            for place, (where, kind, start, duration) in enumerate(calls)
            if where == thread
        )
        before = []  # (place, end, kind), in order
        children = {}
        for start, negative, place, kind in ordered:
            around = [(p, k) for p, end, k in before if end > start]
            operators = [p for p, k in around if k == "operator"]
            above = operators + ([place] if kind == "operator" else [])
            parent = around[-1][0] if around else None
            found[place] = [
                parent,
                operators[-1] if operators else None,
                above[-1] if above else None,
                above[0] if above else None,
            ]
            if kind != "memory":
                children.setdefault(parent, []).append(range(start, start - negative))
            before.append((place, start - negative, kind))
        for start, negative, place, kind in ordered:
            covered = {moment for child in children.get(place, ()) for moment in child}
            own = None if kind == "memory" else len(set(range(start, start - negative)) - covered)
            found[place].append(own)
    return {place: tuple(values) for place, values in found.items()}


def in_sql(calls):
    house = views(
        [
            memory(64, at=start, address=place, tid=thread)
            if kind == "memory"
            else KINDS[kind]("f", start, duration, tid=thread)
            for place, (thread, kind, start, duration) in enumerate(calls)
        ]
    )
    return house.pairs(
        "select event_index, tree.parent_index, tree.parent_operator_index, tree.operator_index,"
        " tree.top_operator_index, self_duration_ns"
        " from intermediate.int_call_walk tree left join intermediate.int_host_call call"
        " using (run_id, event_index)"
    )


def _no_length_for_memory(call):
    thread, kind, start, duration = call
    return (thread, kind, start, 0 if kind == "memory" else duration)


CALL = st.tuples(st.integers(1, 3), st.sampled_from(sorted(KINDS)), st.integers(0, 14), st.integers(0, 9)).map(
    _no_length_for_memory
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(CALL, min_size=1, max_size=16))
def test_the_tree_is_the_one_that_a_stack_builds(calls):
    assert in_sql(calls) == by_stack(calls)


def test_the_tree_is_the_one_that_a_stack_builds_on_two_hundred_crowded_threads():
    numbers = random.Random(7)
    calls = [
        _no_length_for_memory(
            (thread, numbers.choice(sorted(KINDS)), numbers.randrange(40), numbers.choice([0, 1, 3, 9, 27]))
        )
        for thread in range(200)
        for _ in range(20)
    ]
    numbers.shuffle(calls)
    assert in_sql(calls) == by_stack(calls)
