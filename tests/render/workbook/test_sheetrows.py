"""Rows of a sheet as text: every text and number comes back, and nothing but text and numbers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.render.workbook.rows import flags, numbers, rows_text, texts

UNICODE = st.text(st.characters(exclude_categories=["Cs"]))
LOOKALIKES = st.lists(
    st.sampled_from(["_x0041_", "_x005F_", "<r>", "</r>", "<f>1</f>", "]]>", "&lt;", " ", "\n", "\0"])
)


def read(*columns, first=0):
    """(number of the row, {cell: (type, style, text)}) of each row."""
    text = bytes(rows_text(first, columns)).decode()
    rows = ElementTree.fromstring(f"<sheetData>{text}</sheetData>")
    kinds = {element.tag for element in rows.iter()}
    assert kinds <= {"sheetData", "row", "c", "v", "is", "t"}
    return [
        (int(row.attrib["r"]), {c.get("r"): (c.get("t", "n"), c.get("s"), "".join(c.itertext())) for c in row})
        for row in rows
    ]


def unescaped(text):
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


@given(st.lists(UNICODE | LOOKALIKES.map("".join) | st.none(), min_size=1, max_size=5))
def test_any_text_comes_back(values):
    rows = read(("", texts(pa.array(values, pa.string()))))
    assert [number for number, _ in rows] == list(range(1, len(values) + 1))
    for value, (number, cells) in zip(values, rows, strict=True):
        if value is None:
            assert cells == {}
        else:
            ((kind, _, text),) = cells.values()
            assert (kind, unescaped(text)) == ("inlineStr", value), number


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.none(), min_size=1))
def test_whole_numbers_are_exact_as_numbers_or_as_text(values):
    for value, (_, cells) in zip(values, read(("", numbers(pa.array(values, pa.int64())))), strict=True):
        found = next(iter(cells.values()), None)
        if value is None:
            assert found is None
        else:
            assert found and int(found[2]) == value
            assert (found[0] == "n") == (abs(value) <= 1 << 53)


@given(st.lists(st.floats(), min_size=1))
def test_doubles_are_exact_and_what_is_not_finite_is_text(values):
    for value, (_, cells) in zip(values, read(("", numbers(pa.array(values, pa.float64())))), strict=True):
        ((kind, _, text),) = cells.values()
        assert repr(float(text)) == repr(value)
        assert (kind == "n") == (value - value == 0)


def test_units_styles_places_and_flags():
    rows = read(
        (' s="4"', numbers(pa.array([1_500, None, -1]), 1_000)),
        (pa.array([' s="5"', ' s="6"', ""]), texts(pa.array(["=1+1", " x ", None]))),
        ("", flags(pa.array([True, False, None]))),
        first=9,
    )
    assert rows == [
        (10, {"A10": ("n", "4", "1.5"), "B10": ("inlineStr", "5", "=1+1"), "C10": ("b", None, "1")}),
        (11, {"B11": ("inlineStr", "6", " x "), "C11": ("b", None, "0")}),
        (12, {"A12": ("n", "4", "-0.001")}),
    ]


@pytest.mark.parametrize(
    ("text", "length"),
    [("x" * 32_767, 32_767), ("x" * 32_768, 32_767), ("😀" * 16_383, 16_383), ("😀" * 16_384, 16_384)],
)
def test_a_cell_holds_so_many_utf16_units(text, length):
    ((_, cells),) = read(("", texts(pa.array([text]))))
    found = cells["A1"][2]
    assert len(found) == length
    assert len(found.encode("utf-16-le")) // 2 <= 32_767
    assert found == text or (found[-1] == "…" and text.startswith(found[:-1]))
