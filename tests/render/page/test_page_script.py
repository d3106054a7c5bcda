"""What the page's script makes of packed rows, run by V8: cells as the plain HTML has them, order and filter."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer

from pipeline.catalog.header import Column
from pipeline.render.page import html
from pipeline.render.page.cells import EXACT_UNITS, cell
from pipeline.render.units import prefix
from tests.render.page.test_html import PARTS, headline, kernels, render  # noqa: F401


@pytest.fixture(scope="module")
def script():
    """A function that calls one of the script with values."""
    machine = MiniRacer()
    machine.eval((html._TEMPLATES / "rows.js").read_text(encoding="utf-8"))

    def call(name, *arguments):
        told = ", ".join(json.dumps(argument) for argument in arguments)
        return json.loads(str(machine.eval(f"JSON.stringify({name}({told}))")))

    return call


# -- a cell --------------------------------------------------------------------------------------------------------

INTEGERS = st.integers(-(1 << 53), 1 << 53)
# Halves of a thousandth in all units, which only rounding to the even digit gives as Python does.
HALVES = st.builds(lambda odd, size: (2 * odd + 1) * size, st.integers(0, 99), st.sampled_from([62_500, 62_500_000]))
FLOATS = st.floats(0, 1e6, allow_nan=False) | st.integers(0, 99).map(lambda odd: (2 * odd + 1) / 16)
VALUES = {
    "duration_ns": INTEGERS | HALVES,
    "bytes": INTEGERS | st.builds(lambda odd: (2 * odd + 1) << 16, st.integers(0, 99)),
    "count": INTEGERS,
    "depth": st.integers(0, 50),
    "ratio": FLOATS,
    "share": FLOATS | st.floats(-2, 2),
    "bandwidth": FLOATS.map(lambda value: value * 1e9),
    "timestamp_ns": INTEGERS,
    "id": INTEGERS,
}
CELLS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.sampled_from(["base", "diff", ""]), VALUES[kind], st.integers(1, 1 << 50))
)


@settings(max_examples=600, deadline=None)
@given(CELLS)
def test_a_number_looks_as_in_plain_html(script, drawn):
    kind, side, value, largest = drawn
    column = Column("ratio_x" if kind == "ratio" else f"{side}_x" if side else "x", kind, "")
    largest = max(largest, abs(value)) if side == "diff" and kind in ("duration_ns", "bytes") else 0
    wanted = cell({column.name: value}, column, largest)
    packed = {"type": kind, "side": prefix(column), "unit": EXACT_UNITS.get(kind, ""), "largest": largest}
    found = script("cellOf", packed | {"style": "", "isNumber": True, "values": [value]}, 0)
    assert (found["text"], found["style"]) == (wanted.text, wanted.style)
    exact, _, unit = found["exact"].partition(" ")
    assert (type(value)(exact), unit) == (value, (wanted.exact or "").partition(" ")[2])


def test_every_cell_of_a_page_looks_as_in_its_plain_html(script, render):  # noqa: F811
    rows = [("a", 1_000_000, 3_000_000), ("b", None, 1_234), ("c", 500_000, None), ("d", 5, 5), ("<b>", 0, 7)]
    page = render(headline(*PARTS), kernels(*rows))
    for section in page.sections.values():
        columns = section.packed["columns"]
        assert len(section.rows) == section.packed["count"]
        for row, cells in enumerate(section.rows):
            for column, wanted in zip(columns, cells, strict=True):
                found = script("cellOf", column, row)
                assert (found["text"], found["style"]) == (wanted.text, wanted.attributes.get("class", ""))
                assert (found["exact"] is None) == (wanted.exact is None)


def test_what_a_row_lacks_is_marked(script, render):  # noqa: F811
    table = kernels(("new", None, 7), ("gone", 7, None), ("unknown", 7, None), ("nothing", None, None))
    place = table.rows.column_names.index("diff_time_ns")
    rows = table.rows.set_column(place, "diff_time_ns", pa.array([7, -7, None, None]))
    section = render(type(table)(table.view, rows)).sections["kernel"]
    ratio = next(column for column in section.packed["columns"] if column["name"] == "ratio_time_ns")
    marks = [script("cellOf", ratio, row) for row in range(4)]
    assert [mark["text"] for mark in marks] == ["new", "gone", "not known", "not known"]
    assert {mark["style"] for mark in marks} == {"mark"}


# -- order and filter ------------------------------------------------------------------------------------------------


def packed(*columns, depths=None):
    """A table of columns, each a list of numbers or of texts."""

    def column(values):
        if any(isinstance(value, str) for value in values):
            texts = sorted({value for value in values if value is not None})
            return {"texts": texts, "codes": [None if value is None else texts.index(value) for value in values]}
        return {"values": values}

    return {"count": len(columns[0]), "depths": depths, "columns": [column(values) for values in columns]}


def test_rows_are_sorted_by_exact_values_with_missing_ones_last_in_both_directions(script):
    table = packed([5, None, -7, 5, 6])
    assert script("sorted", table, 0, False) == [2, 0, 3, 4, 1]
    assert script("sorted", table, 0, True) == [4, 0, 3, 2, 1]


def test_marks_of_ratios_are_missing_values(script):
    table = {"count": 3, "depths": None, "columns": [{"values": ["new", 2.0, 0.5]}]}
    assert script("sorted", table, 0, True) == [1, 2, 0]


def test_names_are_sorted_as_people_do_with_empty_ones_last(script):
    table = packed(["k10", "k9", "", None, "a"])
    assert script("sorted", table, 0, False) == [4, 1, 0, 2, 3]
    assert script("sorted", table, 0, True) == [0, 1, 4, 2, 3]


def test_in_a_tree_siblings_are_sorted_among_themselves(script):
    #          E2E  Free idle copies Comm
    table = packed([9, 5, 1, 4, 20], depths=[0, 1, 2, 2, 0])
    assert script("sorted", table, 0, True) == [4, 0, 1, 3, 2]
    assert script("sorted", table, 0, False) == [0, 1, 2, 3, 4]


def test_a_tree_may_be_as_deep_as_a_table_is_long(script):
    count = 20_000
    found = script("sorted", packed(list(range(count)), depths=list(range(count))), 0, True)
    assert found == list(range(count))


def test_a_filter_sees_all_rows_and_takes_those_with_every_word_in_one_of_their_texts(script):
    table = packed(["MatMul_1", "Add", "matmul_2", None], [1, 2, 3, 4], ["[8]", "[8]", None, "[9]"])
    assert script("matching", table, ["matmul"]) == [0, 2]
    assert script("matching", table, ["matmul", "[8]"]) == [0]
    assert script("matching", table, ["3"]) == []
    assert script("matching", table, []) == [0, 1, 2, 3]


def test_a_filter_of_a_tree_keeps_the_rows_above_one_that_has_the_words(script):
    table = packed(["E2E", "Computing", "Matmul", "Conv", "Free"], depths=[0, 1, 2, 2, 1])
    assert script("matching", table, ["conv"]) == [0, 1, 3]
    assert script("matching", table, ["computing"]) == [0, 1]


def test_the_whole_script_is_valid_and_needs_no_more_than_a_browser_has():
    machine = MiniRacer()
    for name in ("rows.js", "page.js"):
        text = (html._TEMPLATES / name).read_text(encoding="utf-8")
        machine.eval(f"new Function({json.dumps(text)})")
