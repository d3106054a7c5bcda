"""The walks against a reading of the rules in plain Python: every overlap, equal times, no length, several threads."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipeline import walk
from pipeline.walk import calls, operators
from pipeline.walk.walks import WALKS

KINDS = [calls.OPERATOR, calls.OPTIMIZER_OPERATOR, calls.CALL, calls.OPTIMIZER_CALL, calls.POINT]


def walked(name, columns, rows, *, size=3):
    """Rows through a walk, a few at a time; the walk's rows by place."""
    text = {"module_name"}
    schema = pa.schema([(column, pa.string() if column in text else pa.int64()) for column in columns])
    table = pa.table([list(values) for values in zip(*rows, strict=True)] or [[]] * len(columns), schema=schema)
    found = pa.Table.from_batches(WALKS[name].run(table.to_batches(max_chunksize=size)), WALKS[name].schema).to_pylist()
    assert len({row["event_index"] for row in found}) == len(found)
    return {row["event_index"]: row for row in found}


# -- calls -------------------------------------------------------------------------------------------------

ENTRY = st.tuples(st.integers(1, 3), st.sampled_from(KINDS), st.integers(0, 14), st.integers(0, 9))
STEP = st.tuples(st.integers(0, 14), st.integers(1, 9))


def in_order(entries, steps=()):
    """Entries (thread, kind, start, length) with the markers of steps, as the walk takes them."""
    rows = [
        (0, calls.MARKER, number, start, start + length, -1, -1, None) for number, (start, length) in enumerate(steps)
    ]
    for place, (thread, kind, start, length) in enumerate(entries):
        end = start if kind == calls.POINT else start + length
        rows.append((thread, kind, place, start, end, -1, -1, None))
    return sorted(rows, key=lambda row: (row[3], row[1] > calls.MARKER, -row[4], row[2]))


@given(st.lists(ENTRY, max_size=16), st.lists(STEP, max_size=4))
def test_what_is_open_at_the_start_is_around_it(entries, steps):
    rows = in_order(entries, steps)
    found = walked("calls", calls.ROWS, rows)
    markers = [row for row in rows if row[1] == calls.MARKER]
    entered = [row for row in rows if row[1] != calls.MARKER]
    assert found.keys() == {row[2] for row in entered}
    for number, (thread, kind, place, start, end, *_) in enumerate(entered):
        around = [row for row in entered[:number] if row[0] == thread and row[4] > start]
        around_operators = [row[2] for row in around if row[1] in (calls.OPERATOR, calls.OPTIMIZER_OPERATOR)]
        is_operator = kind in (calls.OPERATOR, calls.OPTIMIZER_OPERATOR)
        row = found[place]
        assert row["parent_index"] == (around[-1][2] if around else None)
        assert row["inside_parent_ns"] == (min(end, around[-1][4]) - start if around else None)
        assert row["parent_operator_index"] == (around_operators[-1] if around_operators else None)
        assert row["operator_index"] == (place if is_operator else row["parent_operator_index"])
        assert row["top_operator_index"] == ([*around_operators, *([place] if is_operator else [])] or [None])[0]
        begun = [marker for marker in markers if marker[3] <= start]
        assert row["step"] == (begun[-1][2] if begun and begun[-1][4] > start else None)
        inside = [other["inside_parent_ns"] for other in found.values() if other["parent_index"] == place]
        assert row["covered_ns"] == sum(inside) <= end - start


def test_the_optimizer_is_the_outermost_call_of_it_that_is_open():
    # 0 Optimizer.step ├───────────────┤
    # 1 Optimizer.step   ├────┤             inside the other
    # 2 aten::add_         ├──────────────┤   outlasts both
    # 3 launch                             │  in it, after both
    entries = [(1, calls.OPTIMIZER_CALL, 0, 20), (1, calls.OPTIMIZER_OPERATOR, 2, 6), (1, calls.OPERATOR, 4, 30)]
    found = walked("calls", calls.ROWS, in_order([*entries, (1, calls.CALL, 33, 0)]))
    assert [found[place]["optimizer_index"] for place in range(4)] == [0, 0, 0, None]


# -- functions ---------------------------------------------------------------------------------------------

FUNCTION = st.tuples(st.integers(1, 2), st.integers(0, 14), st.integers(0, 9), st.sampled_from([None, "A_0", "B_1"]))


@given(st.lists(FUNCTION, max_size=14), st.lists(st.tuples(st.integers(1, 2), st.integers(0, 24)), max_size=4))
def test_a_function_without_a_number_is_in_the_innermost_around(functions, points):
    rows = [
        (thread, calls.FUNCTION if name is None else calls.MODULE, place, start, start + length, -1, -1, name)
        for place, (thread, start, length, name) in enumerate(functions)
    ]
    rows += [(thread, calls.POINT, 100 + place, at, at, -1, -1, None) for place, (thread, at) in enumerate(points)]
    rows.sort(key=lambda row: (row[3], -row[4], row[2]))
    found = walked("calls", calls.ROWS, rows)
    inside = {}  # function -> those around it and itself, outermost first
    for number, (thread, kind, place, start, *_, name) in enumerate(rows):
        around = [row[2] for row in rows[:number] if row[0] == thread and row[4] > start and row[1] >= calls.FUNCTION]
        inside[place] = [*(inside[around[-1]] if around else []), *([place] if kind != calls.POINT else [])]
        modules = [one for one in inside[place] if one < 100 and functions[one][3] is not None]
        if name is not None:
            assert found[place]["parent_module_index"] == (modules[-2] if len(modules) > 1 else None)
            assert found[place]["caller_indexes"] in (None, ",".join(map(str, inside[place])))
        if kind == calls.POINT or name is not None:
            assert found[place]["module_index"] == (modules[-1] if modules else None)
    paths = {place: row["path"] for place, row in found.items() if row["path"] is not None}
    named = {place: tuple(functions[one][3] for one in inside[place] if functions[one][3]) for place in paths}
    assert (
        len(set(paths.values()))
        == len(set(named.values()))
        == len(set(zip(paths.values(), named.values(), strict=True)))
    )
    first = [row["path"] for row in found.values() if row["caller_indexes"] is not None]
    assert sorted(first) == sorted(set(paths.values()))


def test_a_recorded_caller_further_up_is_the_one_that_counts():
    # 0 Net_0 [1] ├───────────────────────┤
    # 1 Linear_0 [2]  ├───────────┤
    # 2 relu [3]        ├───────┤           called by 1
    # 10, 11              │           │
    rows = [
        (1, calls.MODULE, 0, 0, 30, 1, -1, "Net_0"),
        (1, calls.MODULE, 1, 5, 20, 2, 1, "Linear_0"),
        (1, calls.FUNCTION, 2, 8, 15, 3, 1, None),
        (1, calls.POINT, 10, 10, 10, -1, -1, None),
        (1, calls.POINT, 11, 16, 16, -1, -1, None),
    ]
    found = walked("calls", calls.ROWS, rows)
    assert {place: found[place]["module_index"] for place in (0, 1, 10, 11)} == {0: 0, 1: 1, 10: 0, 11: 1}


def test_a_numbered_function_without_a_caller_is_a_root_beside_functions_without_numbers():
    rows = [
        (1, calls.MODULE, 0, 0, 40, -1, -1, "Net_0"),
        (1, calls.MODULE, 1, 5, 20, 7, -1, "Linear_0"),
        (2, calls.MODULE, 2, 6, 20, 8, -1, "Linear_1"),
    ]
    found = walked("calls", calls.ROWS, rows)
    assert [found[place]["parent_module_index"] for place in range(3)] == [None, None, None]


def test_an_unknown_caller_makes_a_root():
    rows = [(1, calls.MODULE, 0, 0, 30, 1, -1, "Net_0"), (1, calls.MODULE, 1, 5, 20, 2, 99, "Linear_0")]
    assert walked("calls", calls.ROWS, rows)[1]["parent_module_index"] is None


# -- operators ---------------------------------------------------------------------------------------------

OPERATOR = st.tuples(
    st.integers(0, 3),
    st.sampled_from([-1, -1, 70, 71]),
    st.sampled_from([-1, -1, -1, 70, 72]),
    st.sampled_from([-1, 90]),
)


@given(st.lists(OPERATOR, max_size=14))
def test_operators_have_the_module_of_their_innermost_and_the_work_of_all_inside(shapes):
    parents, path, rows = [], [], []
    for place, (up, module, linked, optimizer) in enumerate(shapes):
        path = path[: max(0, len(path) - up)]
        parents.append(path[-1] if path else -1)
        rows.append((place, parents[-1], module, linked, optimizer, place % 3, 10 * place))
        path.append(place)
    found = walked("operators", operators.ROWS, rows)

    def above(place):
        return [place] if parents[place] == -1 else [*above(parents[place]), place]

    def module_of(place):
        _, module, _, optimizer = shapes[place]
        linked = [shapes[one][2] for one in above(place) if shapes[one][2] != -1]
        if module == -1 and linked:
            return linked[-1], True
        return (optimizer if module == -1 else module), False

    for place in range(len(shapes)):
        row, (module, is_backward) = found[place], module_of(place)
        assert (row["module_index"], row["is_module_backward"]) == (None if module == -1 else module, is_backward)
        around = above(place)
        if module_of(around[0]) == (module, is_backward):
            outermost = around[0]
        else:
            outermost = place
            while parents[outermost] != -1 and module_of(parents[outermost]) == (module, is_backward):
                outermost = parents[outermost]
        assert row["outermost_index"] == outermost
        inside = [other for other in range(len(shapes)) if place in above(other)]
        assert [found[other]["position"] for other in inside] == list(range(row["position"], row["last_position"] + 1))
        assert row["is_outermost"] == (parents[place] == -1)
        assert row["self_activity_count"] == place % 3
        assert row["device_activity_count"] == sum(one % 3 for one in inside)
        assert row["device_duration_ns"] == sum(10 * one for one in inside)


def test_every_walk_has_its_name_on_the_list():
    assert tuple(WALKS) == walk.NAMES
