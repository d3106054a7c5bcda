"""The page: whole and small whatever the rows, names are text everywhere, what is left out is said."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from pipeline.catalog.header import Column, View
from pipeline.comparison.result import Comparison, ResultTable, Side
from pipeline.render.page import html
from pipeline.render.page import rows as page_rows
from tests.support.page import Page

EVIL = [
    "</script><script>alert(1)</script>",
    "<img src=http://example.com/x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' '} ${alert(1)} {{ 7 * 7 }} %{x}",
    "<!--",
    "<a href='https://example.com'>x</a>",
    "a\x01b",
]  # fmt: skip
TYPES = {
    "duration_ns": pa.int64(),
    "bytes": pa.int64(),
    "count": pa.int64(),
    "depth": pa.int32(),
    "ratio": pa.float64(),
}


def view(name, columns, order, *, headline=False, sheet="Sheet"):
    """A view of columns given as `name type`."""
    named = [column.split() for column in columns]
    listed = tuple(Column(called, kind, f"Meaning of {called} {kind}") for called, kind in named)
    return View(
        layer="marts", name=name, summary=f"{name}: one row per name.", rules="", title=name.title(), sheet=sheet,
        headline=headline, detail=False, position=0, grain=("device_ordinal", "name"), order=order, columns=listed,
        materialized=False, body="select 1", references=frozenset(),
    )  # fmt: skip


KERNEL = view(
    "kernel",
    ["base_run_id id", "comparison_run_id id", "name name", "base_time_ns duration_ns", "base_calls count",
     "comparison_time_ns duration_ns", "comparison_calls count", "diff_time_ns duration_ns", "ratio_time_ns ratio"],
    "diff_time_ns desc, name",
)  # fmt: skip
HEADLINE = view(
    "headline",
    ["base_run_id id", "comparison_run_id id", "device_ordinal id", "scope category", "name name", "depth depth",
     "place id", "base_time_ns duration_ns", "comparison_time_ns duration_ns", "diff_time_ns duration_ns",
     "ratio_time_ns ratio"],
    "device_ordinal, place",
    headline=True,
)  # fmt: skip
MODULE = dataclasses.replace(
    view(
        "module",
        ["base_run_id id", "comparison_run_id id", "level depth", "operator name", "base_time_ns duration_ns",
         "comparison_time_ns duration_ns", "diff_time_ns duration_ns", "ratio_time_ns ratio", "own name"],
        "level, operator",
    ),
    tree="own",
)  # fmt: skip


def table(of, rows):
    """Rows as tuples of the columns behind the run ids."""
    names = [column.name for column in of.columns]
    types = [
        pa.int64() if c.name in ("device_ordinal", "place") else TYPES.get(c.type, pa.string()) for c in of.columns
    ]
    columns = zip(*[("base", "new", *row) for row in rows], strict=True) if rows else [[] for _ in names]
    return ResultTable(of, pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=names))


def kernels(*rows):
    """(name, base ns, comparison ns) as the rows that SQL would give."""

    def row(name, base, new):
        ratio = new / base if base and new is not None else None
        return name, base, base and 3, new, new and 3, (new or 0) - (base or 0), ratio

    return table(KERNEL, [row(*values) for values in rows])


def headline(*rows):
    """(device, name, depth, base ns, comparison ns)"""
    return table(HEADLINE, [
        (device, "whole run", name, depth, place, base, new, new - base, new / base if base else None)
        for place, (device, name, depth, base, new) in enumerate(rows)
    ])  # fmt: skip


def modules(*rows):
    """(level, name, base ns, comparison ns) as the rows that SQL would give, each with an operator of its own."""
    found = []
    for level, name, base, new in rows:
        diff = (new or 0) - (base or 0)
        figures = (base, new, diff, new / base if base and new is not None else None)
        found += [(level, "[ TOTAL ]", *figures, name), (level, "aten::mm", *figures, None)]
    return table(MODULE, found)


def side(run_id, status="complete", step=None):
    return Side(
        {"run_id": run_id, "status": status, "device_name": "H100", "source_path": f"/traces/{run_id}.json",
         "step_count": 3, "complete_step_count": 3, "event_count": 1234, "device_activity_count": 99},
        step,
    )  # fmt: skip


@pytest.fixture
def render(tmp_path):
    def render(*tables, base=None, notes=()):
        sides = (base or side("base"), side("new"))
        result = Comparison(*sides, {t.view.name: t for t in tables}, "1.2.3", "abcdef" * 9, {}, notes)
        (path,) = html.write_html(result, tmp_path / "page.html")
        assert path.stat().st_size < html.MAX_BYTES
        return Page(path.read_text(encoding="utf-8"))

    return render


PARTS = [(0, "Whole", 0, 1000, 1500), (0, "Left", 1, 400, 1000), (0, "Right", 1, 600, 500)]


def test_the_top_says_what_was_compared(render):
    page = render(kernels(), base=side("base", "salvaged", 2), notes=("base: 3 events lost",))
    for text in (
        "base, step 2 [salvaged]",
        "/traces/new.json",
        "step 2, 3 steps recorded",
        "whole run, 3 steps recorded",
        "1,234 events",
        "H100",
        "1.2.3 (abcdefabcdef)",
        "base: 3 events lost",
    ):
        assert text in page.text, text


def test_the_headline_is_a_sentence_with_the_part_that_did_it(render):
    page = render(headline(*PARTS))
    assert "Whole (whole run): 1.000 µs → 1.500 µs, ×1.500, 500 ns slower" in page.text
    assert "Largest part: Left, +600 ns (120% of the difference)" in page.text
    assert "worse" in dict(next(attrs for _, attrs in page.elements if "headline" in attrs.get("class", "")))["class"]


@pytest.mark.parametrize(
    ("base", "new", "sentence"), [(1500, 1000, "×0.667, 500 ns faster"), (7, 7, "7 ns → 7 ns, the same")]
)
def test_the_headline_of_a_faster_and_of_an_equal_run(render, base, new, sentence):
    assert sentence in render(headline((0, "Whole", 0, base, new))).text


def test_waterfall_goes_from_base_over_the_parts_to_the_comparison(render):
    (figure,) = render(headline(*PARTS)).figures
    (trace,) = figure["data"]
    assert trace["measure"] == ["absolute", "relative", "relative", "total"]
    assert trace["y"] == [0.001, 0.0006, -0.0001, 0.0015]
    assert sum(trace["y"][:-1]) == pytest.approx(trace["y"][-1])
    assert trace["text"] == ["1.000 µs", "+600 ns", "-100 ns", "1.500 µs"]


def test_what_no_part_explains_is_a_bar(render):
    (figure,) = render(headline((0, "Whole", 0, 1000, 1500), (0, "Left", 1, 400, 500), (0, "Deep", 2, 9, 99))).figures
    (trace,) = figure["data"]
    assert trace["hovertext"][1:-1] == ["Left<br>+100 ns", "in no part<br>+400 ns"]
    assert sum(trace["y"][:-1]) == pytest.approx(trace["y"][-1])


def test_a_device_has_its_own_sentence_and_chart(render):
    page = render(headline(*PARTS, *((1, *row[1:]) for row in PARTS)))
    assert len(page.figures) == 2
    assert "Device 1: Whole (whole run): 1.000 µs" in page.text


def test_small_differences_cut_the_axis_and_say_so(render):
    rows = [(0, "Whole", 0, 1_000_000_000, 1_001_000_000), (0, "Left", 1, 0, 1_000_000)]
    axis = render(headline(*rows)).figures[0]["layout"]["yaxis"]
    assert axis["range"][0] > 900
    assert "does not start at 0" in axis["title"]["text"]


def test_cells_have_units_and_exact_values_and_marks(render):
    page = render(kernels(("a", 1_000_000, 3_000_000), ("b", None, 1_234), ("c", 500_000, None), ("d", 5, 5)))
    assert page.rows[-4:] == [
        ["a", "+2.000 ms", "×3.000", "1.000 ms", "3", "3.000 ms", "3"],
        ["b", "+1.234 µs", "new", "", "", "1.234 µs", "3"],
        ["c", "-500.000 µs", "gone", "500.000 µs", "3", "", ""],
        ["d", "0 ns", "×1.000", "5 ns", "3", "5 ns", "3"],
    ]
    titles = page.attributes("td", "title")
    assert titles[:2] == ["2000000 ns", "3.0"]
    styles = [attrs.get("class") for tag, attrs in page.elements if tag == "td" and "ns" in attrs.get("title", "")]
    assert [style for style in styles if style] == ["worse3", "worse1", "better2"]


def test_columns_stand_in_bands(render):
    page = render(kernels(("a", 1, 2)))
    spans = [(attrs["class"], attrs["colspan"]) for tag, attrs in page.elements if attrs.get("scope") == "colgroup"]
    assert spans == [("diff", "2"), ("base", "2"), ("comparison", "2")]
    assert page.attributes("th", "aria-sort") == [
        "none",
        "descending",
        "none",
        "none",
        "none",
        "none",
        "none",
    ]
    assert "Meaning of name name" in page.attributes("th", "title")


def test_a_tree_is_indented_and_its_places_are_no_columns(render):
    page = render(headline(*PARTS))
    assert page.attributes("tr", "data-depth") == ["0", "1", "1"]
    assert page.rows[-3] == ["Whole", "+500 ns", "×1.500", "1.000 µs", "1.500 µs"]


def test_no_rows_and_sides_without_figures_are_said(render):
    assert "No rows for these two runs." in render(kernels()).text
    assert "Nothing was measured in the base" in render(kernels(("a", None, 1), ("b", None, 2))).text
    assert "Nothing was measured" not in render(kernels(("a", None, 1), ("b", 1, None))).text


def test_hostile_names_are_text_everywhere(render):
    rows = [(0, EVIL[0], 0, 1, 9), *((0, name, 1, 1, 2) for name in EVIL)]
    page = render(headline(*rows), kernels(*((name, 1, 2) for name in EVIL)), base=side(EVIL[0]), notes=(EVIL[1],))
    assert page.kinds_of_scripts == ["application/json", *["text/plain"] * 3, None]  # rows of two tables, the library
    assert [row[0] for row in page.rows[-len(EVIL) :]] == EVIL
    assert not page.attributes("img", "src")
    assert not {name for _, attrs in page.elements for name in attrs if name.startswith("on")}
    (figure,) = page.figures
    shown = [*figure["data"][0]["hovertext"], *figure["layout"]["xaxis"]["ticktext"]]
    assert not [text for text in shown if "<" in text.replace("<br>", "")]


def test_long_names_and_file_names_that_are_no_text_are_written(render):
    row = render(kernels(("x" * 50_000, 1, 2)), base=side("\udc80")).rows[-1]
    assert row[0].endswith("… (50,000 characters)")
    assert len(row[0]) < 2_100


def test_nothing_is_fetched(render):
    page = render(headline(*PARTS), kernels(("http://example.com/x", 1, 2)))
    addresses = [v for _, attrs in page.elements for k, v in attrs.items() if k in ("src", "href", "srcset", "action")]
    assert {address[0] for address in addresses if address != "data:,"} == {"#"}
    (policy,) = [c for c in page.attributes("meta", "content") if c.startswith("default-src")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    assert policy.count("'sha256-") == 2


def test_the_policy_allows_the_script_of_the_page(render):
    page = render(kernels(("a", 1, 2)))
    assert page.kinds_of_scripts == ["text/plain", None]
    assert any(html._csp_hash(page.scripts[-1].encode()) in content for content in page.attributes("meta", "content"))


RANKED = dataclasses.replace(KERNEL, rank=("diff_time_ns",))


def test_all_rows_of_a_hundred_thousand_are_on_the_page_with_the_largest_difference_first(render):
    rows = [(f"kernel_{i}", 50_000, i) for i in range(100_000)]
    section = render(ResultTable(RANKED, kernels(*rows).rows)).sections["kernel"]
    assert section.packed["count"] == 100_000
    columns = section.columns
    assert sorted(columns["name"]) == sorted(name for name, _, _ in rows)
    found = list(zip(columns["name"], columns["base_time_ns"], columns["comparison_time_ns"], strict=True))
    assert sorted(found) == sorted(rows)
    sizes = [abs(diff) for diff in columns["diff_time_ns"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found[:3] == [("kernel_0", 50_000, 0), ("kernel_1", 50_000, 1), ("kernel_99999", 50_000, 99_999)]
    assert len(section.rows) == 100  # in plain HTML
    assert [cell.attributes["aria-sort"] for cell in section.titles][:3] == ["none", "other", "none"]


def test_rows_of_the_same_size_stay_in_the_order_of_the_view_and_unknown_differences_come_last(render):
    rows = [("a", None, None), ("b", 5, 3), ("c", 3, 5), ("d", 1, 9)]
    found = kernels(*rows).rows
    place = found.column_names.index("diff_time_ns")
    found = found.set_column(place, "diff_time_ns", pa.array([None, -2, 2, 8]))
    assert render(ResultTable(RANKED, found)).sections["kernel"].columns["name"] == ["d", "b", "c", "a"]


def test_a_table_without_a_rank_and_a_tree_stay_in_the_order_of_the_view(render):
    page = render(headline(*PARTS), kernels(("a", 1, 2), ("b", 1, 9)))
    assert page.sections["headline"].columns["name"] == ["Whole", "Left", "Right"]
    assert page.sections["headline"].packed["depths"] == [0, 1, 1]
    assert page.sections["kernel"].columns["name"] == ["a", "b"]


def test_beyond_a_limit_rows_are_left_out_and_the_place_of_all_is_named(render, tmp_path, monkeypatch):
    monkeypatch.setattr(page_rows, "ROW_LIMITS", (1_000,))
    rows = ResultTable(RANKED, kernels(*((f"kernel_{i}", 1, i) for i in range(3_000))).rows)
    told = "1,000 of 3,000 rows are on this page, those with the largest differences; all rows are in "
    page = render(rows)
    assert f"{told}marts.kernel." in page.text
    assert set(page.sections["kernel"].columns["name"]) == {f"kernel_{i}" for i in range(2_000, 3_000)}
    (tmp_path / "page.xlsx").touch()
    assert f"{told}the workbook page.xlsx." in render(rows).text
    (tmp_path / "page.Sheet.csv").touch()
    assert f"{told}page.Sheet.csv." in render(rows).text


def test_packed_rows_of_all_tables_together_are_bounded_by_taking_from_the_largest(render, monkeypatch):
    monkeypatch.setattr(page_rows, "PACKED_BYTES", 60_000)
    columns = [f"{column.name} {column.type}" for column in KERNEL.columns]
    small = ResultTable(view("small", columns, KERNEL.order), kernels(*((f"k{i}", 1, i) for i in range(90))).rows)
    large = kernels(*((f"kernel_{i}", i * 7919 % 5003, i) for i in range(30_000)))
    page = render(small, large)
    packed = {name: section.packed["count"] for name, section in page.sections.items()}
    assert packed == {"small": 90, "kernel": 1_000}
    assert "1,000 of 30,000 rows are on this page, the first ones;" in page.text


def test_integers_that_a_double_does_not_hold_and_figures_that_are_not_finite_are_packed_as_text(render):
    page = render(kernels(("a", 1 << 53, (1 << 53) + 1), ("b", 1, 2)))
    section = page.sections["kernel"]
    assert section.columns["comparison_time_ns"] == [str((1 << 53) + 1), 2]
    assert section.columns["base_time_ns"] == [1 << 53, 1]
    rows = kernels(("a", 1, 2)).rows
    rows = rows.set_column(rows.column_names.index("ratio_time_ns"), "ratio_time_ns", pa.array([float("inf")]))
    assert render(ResultTable(KERNEL, rows)).sections["kernel"].columns["ratio_time_ns"] == ["inf"]


def test_a_page_of_many_long_names_stays_small(render):
    long = kernels(*((f"{i}" + "<" * 50_000, 1, 2) for i in range(400)))
    columns = [f"{column.name} {column.type}" for column in KERNEL.columns]
    several = [ResultTable(view(f"v{i}", columns, KERNEL.order), long.rows) for i in range(12)]
    devices = [(device, *row[1:]) for device in range(8) for row in PARTS]
    page = render(headline(*devices), *several)
    assert {len(section.rows) for name, section in page.sections.items() if name != "headline"} == {20}
    assert {section.packed["count"] for name, section in page.sections.items() if name != "headline"} == {400}
    assert "rows of a table after the first 20 need JavaScript" in page.text
    assert len(page.figures) == 8


def test_characters_that_turn_text_around_are_shown_as_such(render):
    row = render(kernels(("a\u202eb\x00c", 1, 2))).rows[-1]
    assert row[0] == "a\ufffdb\ufffdc"


def test_a_headline_without_rows_says_so(render):
    page = render(headline())
    assert "No rows for these two runs." in page.text


# Net      ├────────────────┤
# Norm     ├────┤              faster
# Block          ├──────────┤  slower, Old gone, New new
FEW = [
    (1, "Net_0", 1_000, 1_300), (2, "Norm_0", 400, 300), (2, "Block_0", 600, 1_000), (3, "Mm_0", 500, 500),
    (3, "Old_0", 100, None), (3, "New_0", None, 500), (1, "[ BACKWARD ]/Net_0", 2_000, 2_000), (2, "Norm_0", 0, 0),
    (0, "(outside any module)", 9_000, 9_800),
]  # fmt: skip


class Nested(HTMLParser):
    """The nodes of a page's tree: names that stand around each, with its cells, as a browser nests them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.around, self.found, self.cells, self.opened = [], {}, None, []
        self.feed(text[text.index('<div class="tree"') :])

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "details":
            self.opened.append("open" in attrs)
        if "node" in attrs.get("class", "").split() and "titles" not in attrs["class"]:
            self.cells = []
        elif tag == "span" and self.cells is not None:
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip("\n")

    def handle_endtag(self, tag):
        if tag in ("summary", "div") and self.cells is not None:
            name, *cells = self.cells
            self.found["/".join([*self.around, name])] = cells
            self.around += [name] if tag == "summary" else []
            self.cells = None
        elif tag == "details":
            self.around.pop()


@pytest.fixture
def nested(render, tmp_path):
    def nested(*rows):
        render(modules(*rows))
        return Nested((tmp_path / "page.html").read_text(encoding="utf-8"))

    return nested


def test_modules_are_a_tree_that_opens_with_figures_of_both_sides(nested):
    tree = nested(*FEW)
    assert tree.found == {
        "Net_0": ["+300 ns", "×1.300", "1.000 µs", "1.300 µs"],
        "Net_0/Norm_0": ["-100 ns", "×0.750", "400 ns", "300 ns"],
        "Net_0/Block_0": ["+400 ns", "×1.667", "600 ns", "1.000 µs"],
        "Net_0/Block_0/Mm_0": ["0 ns", "×1.000", "500 ns", "500 ns"],
        "Net_0/Block_0/Old_0": ["-100 ns", "gone", "100 ns", ""],
        "Net_0/Block_0/New_0": ["+500 ns", "new", "", "500 ns"],
        "[ BACKWARD ]/Net_0": ["0 ns", "×1.000", "2.000 µs", "2.000 µs"],
        "[ BACKWARD ]/Net_0/Norm_0": ["0 ns", "", "0 ns", "0 ns"],
        "(outside any module)": ["+800 ns", "×1.089", "9.000 µs", "9.800 µs"],
    }
    assert tree.opened == [True, True, True]


def test_modules_are_areas_of_their_time_coloured_by_difference(render):
    page = render(modules(*FEW))
    (figure,) = page.figures
    base, new = figure["data"]

    def areas(trace):
        names = dict(zip(trace["ids"], trace["labels"], strict=True))
        return {
            (names.get(above, ""), name): value
            for above, name, value in zip(trace["parents"], trace["labels"], trace["values"], strict=True)
        }

    whole = "Base: 3.000 µs"
    assert areas(base) == {
        ("", whole): 3_000, (whole, "Net_0"): 1_000, ("Net_0", "Norm_0"): 400, ("Net_0", "Block_0"): 600,
        ("Block_0", "Mm_0"): 500, ("Block_0", "Old_0"): 100, (whole, "[ BACKWARD ]/Net_0"): 2_000,
    }  # fmt: skip
    assert areas(new)["Block_0", "New_0"] == 500
    assert [trace["domain"]["x"] for trace in (base, new)] == [[0, 3_000 / 3_300], [0, 1]]
    colours = dict(zip(base["labels"], base["marker"]["colors"], strict=True))
    assert colours["Norm_0"] < 0 == colours["Mm_0"] < colours["Net_0"] < colours["Block_0"]
    assert new["hovertext"][-2] == "New_0<br>Difference +500 ns<br>Ratio new<br>Comparison 500 ns"
    assert base["hovertext"][1] == "Net_0<br>Difference +300 ns<br>Ratio ×1.300<br>Base 1.000 µs<br>Comparison 1.300 µs"
    scale = figure["layout"]["coloraxis"]
    assert scale["cmax"] == -scale["cmin"] == pytest.approx(500**0.5)
    assert scale["colorbar"]["ticktext"][-1] == "+500 ns"
    assert "Not drawn: (outside any module): Difference +800 ns, Ratio ×1.089, Base 9.000 µs" in page.text


def test_areas_add_up_to_the_one_that_they_are_in(render):
    for trace in render(modules(*FEW)).figures[0]["data"]:
        inside = {}
        for above, value in zip(trace["parents"], trace["values"], strict=True):
            inside[above] = inside.get(above, 0) + value
        sizes = dict(zip(trace["ids"], trace["values"], strict=True))
        assert all(size <= sizes[above] for above, size in inside.items() if above)
        assert inside["0"] == sizes["0"]


def test_a_page_without_modules_has_no_tree(render):
    for page in (
        render(kernels(("a", 1, 2))),
        render(modules()),
        render(table(MODULE, [(1, "x", 1, 2, 1, 2.0, None)])),
    ):
        assert "tree" not in page.attributes("div", "class")
        assert not page.figures


def test_modules_without_device_time_are_a_tree_without_areas(render, nested):
    assert not render(modules((1, "Net_0", None, None))).figures
    assert nested((1, "Net_0", None, None), (2, "Norm_0", None, None)).found["Net_0/Norm_0"][2:] == ["", ""]


def test_equal_runs_have_areas_and_no_scale_of_colours(render):
    (figure,) = render(modules((1, "Net_0", 5, 5))).figures
    assert figure["layout"]["coloraxis"]["showscale"] is False
    assert figure["data"][0]["marker"]["colors"] == [0, 0]


def test_hostile_names_are_text_in_the_tree_and_in_its_areas(render, tmp_path):
    page = render(modules((1, "Net_0", 9, 99), *((2, name, 1, 2) for name in EVIL)))
    assert page.kinds_of_scripts == ["application/json", *["text/plain"] * 2, None]
    assert not page.attributes("img", "src")
    assert not {name for _, attrs in page.elements for name in attrs if name.startswith("on")}
    tree = Nested((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert list(tree.found) == ["Net_0", *(f"Net_0/{name}" for name in EVIL)]
    for trace in page.figures[0]["data"]:
        shown = [*trace["labels"], *trace["hovertext"]]
        assert not [text for text in shown if "<" in text.replace("<br>", "")]


def test_of_many_modules_the_largest_are_shown_with_those_around_them(nested, render):
    layers = [(2, f"Layer_{i}", i, 2 * i) for i in range(3_000)]
    rows = [(1, "Net_0", 9_000_000, 9_000_000), *layers, (1, "Small_0", 0, 0)]
    tree = nested(*rows)
    assert len(tree.found) == 2_000
    assert [*tree.found][:2] == ["Net_0 + 1,001 not shown", "Net_0 + 1,001 not shown/Layer_1001"]
    assert "2,000 of 3,002 nodes are in the tree: the largest on either side." in render(modules(*rows)).text
    assert tree.opened == [False]


def test_modules_may_be_nested_deeper_than_python_recurses(nested):
    assert len(nested(*((level, "Net_0", 5, 5) for level in range(1, 1_500))).opened) == 1_498
