"""Two runs side by side: all *_comparison views, by rules that hold for each and by figures of their own."""

from __future__ import annotations

import itertools
import math

import pytest

from pipeline.comparison.result import AVERAGE_STEP
from tests.support.events import (
    analysed,
    annotation,
    collective,
    detail,
    kernel,
    launch,
    memcpy,
    memory,
    op,
    problem,
    python,
    step,
)
from tests.support.views import catalog, views

WHOLE = "base_run_id = 'v1' and comparison_run_id = 'v2' and base_step is null and comparison_step is null"
COMPARISONS = [view.name for view in catalog().comparisons]
# What each comparison sets side by side, where that is one mart's rows (others sum them up first).
OF_MART = {
    "kernel_comparison": ("kernel", ("kernel_name", "input_shapes"), "total_duration_ns"),
    "operator_comparison": ("operator", ("operator_name",), "device_duration_ns"),
    "communication_comparison": ("communication", ("collective_name",), "total_duration_ns"),
    "host_call_comparison": ("host_call", ("call_name", "call_kind"), "self_duration_ns"),
    "memory_comparison": ("memory", ("operator_name",), "allocated_bytes"),
}


def launched(operator, shapes, at, name, start, duration, **columns):
    """An operator that launches one kernel."""
    return [
        op(operator, at, 10, input_shapes=shapes),
        launch("cudaLaunchKernel", at + 1, 3, correlation=at),
        kernel(name, start, duration, correlation=at, **columns),
    ]


def run(steps, gemm, *events):
    """Some steps of 1000, each with a kernel of `gemm`, a collective, a copy and an allocation."""
    return [
        [
            step(number, number * 1000, 1000),
            python("nn.Module: Net_0", number * 1000 + 5, 300, number),
            launched("aten::mm", "[[8]]", number * 1000 + 10, "gemm", number * 1000 + 100, gemm),
            launch("cudaLaunchKernel", number * 1000 + 50, 3, correlation=number),
            collective("allreduce", number * 1000 + 110 + gemm, 40, sent=10, received=10, correlation=number),
            memcpy(number * 1000 + 700, 30, correlation=number),
            memory(512, at=number * 1000 + 12, address=number, allocated=512 * number, reserved=4096),
            memory(-512, at=number * 1000 + 600, address=number, allocated=512 * number, reserved=4096),
            analysed("bandwidth", "h", transport="SDMA", bytes=64, transit_ns=gemm, step=str(number)),
        ]
        for number in range(1, steps + 1)
    ] + list(events)


@pytest.fixture(scope="module")
def house():
    """Three runs: v2 is slower than v1 and has and lacks rows of each kind; v3 has more steps."""
    return views(
        v1=run(
            2,
            200,
            launched("aten::relu", "[[4]]", 1300, "relu_kernel", 1400, 50),
            collective("broadcast", 2500, 5, sent=3),
            annotation("old", 2600, 10),
            op("aten::empty", 2700, 10),
            memory(100, at=2705, address=77, allocated=9000, reserved=9000),
            kernel("gemm", 5000, 10, device=1),
        ),
        v2=run(
            2,
            260,
            launched("aten::gelu", "[[4]]", 1400, "gelu_kernel", 1600, 70),
            launched("aten::gelu", "[[5]]", 2400, "gelu_kernel", 2600, 70),
            collective("all_gather", 2900, 5, sent=3, received=24),
            annotation("new", 2650, 12),
            op("aten::zeros", 2700, 10),
            memory(100, at=2705, address=77, allocated=8000, reserved=9500),
            memory(-100, at=2715, address=77, allocated=7900, reserved=9500),
            kernel("gemm", 5000, 10, device=3),
            kernel("gemm", 5050, 20, device=3),
        ),
        v3=run(3, 200),
    )


def kinds(view, kind):
    """(base, comparison, diff or ratio) columns of a comparison."""
    names = [column.name for column in catalog().views[f"marts.{view}"].columns]
    return [
        (f"base_{stem}", f"comparison_{stem}", f"{kind}_{stem}")
        for stem in (name.removeprefix(f"{kind}_") for name in names if name.startswith(f"{kind}_"))
    ]


def key(view):
    columns = {"base_run_id", "base_step", "comparison_run_id", "comparison_step"}
    return [column for column in catalog().views[f"marts.{view}"].grain if column not in columns]


def dicts(house, sql):
    found = house.rows(sql)
    names = [column[0] for column in house.connection.description]
    return [dict(zip(names, row, strict=True)) for row in found]


# -- rules of every comparison -------------------------------------------------------------------------------


@pytest.mark.parametrize("view", COMPARISONS)
def test_a_difference_is_comparison_minus_base(house, view):
    rows = dicts(house, f"select * from marts.{view}")
    assert rows
    for base, comparison, diff in kinds(view, "diff"):
        for row in rows:
            if None not in (row[base], row[comparison]):
                assert row[diff] == row[comparison] - row[base]


@pytest.mark.parametrize("view", COMPARISONS)
def test_a_ratio_is_comparison_over_base_and_null_where_the_base_is_0_or_a_side_is_missing(house, view):
    rows = dicts(house, f"select * from marts.{view}")
    assert kinds(view, "ratio")
    for base, comparison, ratio in kinds(view, "ratio"):
        for row in rows:
            old, new = row[base], row[comparison]
            if None in (old, new) or (old == 0 and new != 0):
                assert row[ratio] is None, row
            else:
                assert row[ratio] == (1.0 if old == new == 0 else new / old), row


@pytest.mark.parametrize("view", COMPARISONS)
def test_a_run_compared_with_itself_differs_in_nothing(house, view):
    rows = dicts(
        house,
        f"select * from marts.{view} where base_run_id = comparison_run_id"
        + (" and base_step is not distinct from comparison_step" if "base_step" in _columns(view) else ""),
    )
    assert rows
    for row in rows:
        assert {row[diff] for _, _, diff in kinds(view, "diff")} <= {0, None}
        assert all(row[base] == row[comparison] for base, comparison, _ in kinds(view, "diff"))


# Their rows have a place, which is not the same the other way round: the base's stand before the comparison's.
IN_ORDER = [name for name in COMPARISONS if key(name) == ["row_order"]]


@pytest.mark.parametrize("view", IN_ORDER)
def test_the_other_way_round_the_same_rows_are_paired(house, view):
    def rows(base, comparison, turned):
        found = dicts(
            house,
            f"select * from marts.{view} where base_run_id = '{base}' and comparison_run_id = '{comparison}'"
            " and base_step is null and comparison_step is null",
        )
        ends = [(old, new)[:: -1 if turned else 1] for old, new, _ in kinds(view, "diff")]
        return sorted(str([(row[old], row[new]) for old, new in ends]) for row in found)

    assert rows("v1", "v2", turned=False) == rows("v2", "v1", turned=True)


@pytest.mark.parametrize("view", [name for name in COMPARISONS if name not in IN_ORDER])
def test_the_other_way_round_every_difference_changes_its_sign(house, view):
    def rows(base, comparison):
        found = dicts(
            house, f"select * from marts.{view} where base_run_id = '{base}' and comparison_run_id = '{comparison}'"
        )
        return {
            (row.get("base_step"), row.get("comparison_step"), *(row[name] for name in key(view))): row for row in found
        }

    forth, back = rows("v1", "v2"), rows("v2", "v1")
    assert len(forth) == len(back)
    for (base_step, comparison_step, *rest), row in forth.items():
        other = back[(comparison_step, base_step, *rest)]
        for base, comparison, diff in kinds(view, "diff"):
            assert (row[base], row[comparison]) == (other[comparison], other[base])
            assert row[diff] == (None if other[diff] is None else -other[diff])


def _columns(view):
    return [column.name for column in catalog().views[f"marts.{view}"].columns]


SCOPES = [
    (run_id, scope) for run_id, count in (("v1", 2), ("v2", 2), ("v3", 3)) for scope in (None, *range(1, count + 1))
]
OF_SCOPES = [name for name in COMPARISONS if "base_step" in _columns(name)]
# Those that align sequences, or add them up: an average has no sequence.
WITHOUT_AVERAGE = {
    "operator_detail_comparison", "module_comparison", "module_detail_comparison", "memory_detail_comparison"
}  # fmt: skip


@pytest.mark.parametrize("view", OF_SCOPES)
def test_any_two_runs_compare_as_wholes_by_the_average_step_and_by_steps_of_one_number(house, view):
    pairs = house.rows(f"select distinct base_run_id, base_step, comparison_run_id, comparison_step from marts.{view}")
    scopes = (
        SCOPES if view in WITHOUT_AVERAGE else [*SCOPES, *((run_id, AVERAGE_STEP) for run_id in ("v1", "v2", "v3"))]
    )
    assert sorted(map(str, pairs)) == sorted(
        str((*base, *comparison)) for base in scopes for comparison in scopes if base[1] == comparison[1]
    )


@pytest.mark.parametrize("view", OF_SCOPES)
def test_any_two_scopes_compare_where_they_are_asked_for(house, view):
    columns = "base_run_id, base_step, comparison_run_id, comparison_step"
    scopes = [("v1", None), ("v1", 2), ("v3", None), ("v3", 3)]
    for base, comparison in itertools.product(scopes, scopes):
        asked = f"'{base[0]}', {base[1] or 'null'}, '{comparison[0]}', {comparison[1] or 'null'}"
        found = house.rows(f"select distinct {columns} from marts.{view}_of_steps({asked})")
        assert found == [(*base, *comparison)]


@pytest.mark.parametrize("view", OF_SCOPES)
def test_what_is_asked_for_is_what_the_comparison_has(house, view):
    """The macro of two steps is the view itself for scopes that it has."""
    columns = ", ".join(column.name for column in catalog().views[f"marts.{view}"].columns)
    for scope in ("null", "1"):
        pair = f"base_run_id = 'v1' and comparison_run_id = 'v2' and base_step is not distinct from {scope}"
        of_view = house.rows(f"select {columns} from marts.{view} where {pair} order by all")
        assert of_view
        assert (
            house.rows(f"select {columns} from marts.{view}_of_steps('v1', {scope}, 'v2', {scope}) order by all")
            == of_view
        )


@pytest.mark.parametrize("view", OF_MART)
def test_differences_sum_to_the_difference_of_the_sums(house, view):
    mart, _, value = OF_MART[view]
    totals = house.pairs(f"select run_id, sum({value})::bigint from marts.{mart} where step is null group by 1")
    (total,) = house.one(f"select sum(diff_{value})::bigint from marts.{view} where {WHOLE}")
    assert total == totals["v2"] - totals["v1"]


@pytest.mark.parametrize("view", OF_MART)
def test_rows_are_new_gone_or_on_both_sides_and_a_missing_side_counts_as_nothing(house, view):
    mart, keys, value = OF_MART[view]
    names = ", ".join(keys)
    in_mart = f"select ({names}), sum({value})::bigint from marts.{mart} where step is null and run_id = "
    old, new = (house.pairs(f"{in_mart} '{run_id}' group by all") for run_id in ("v1", "v2"))
    found = house.pairs(
        f"select ({names}), base_{value}, comparison_{value}, diff_{value}, ratio_{value} from marts.{view}"
        f" where {WHOLE}"
    )
    assert set(found) == set(old) | set(new)
    assert set(old) - set(new)
    assert set(new) - set(old)
    for name, (base, comparison, diff, ratio) in found.items():
        assert (base, comparison) == (old.get(name), new.get(name))
        assert diff == new.get(name, 0) - old.get(name, 0)
        assert (ratio is None) == (name not in old or name not in new or (old[name] == 0 and new[name] != 0))


@pytest.mark.parametrize("view", OF_MART)
def test_where_a_whole_side_is_missing_every_difference_is_the_other_side(house, view):
    # A row is new where all of its base columns are NULL: the header says that a side without a row counts as 0.
    for row in dicts(house, f"select * from marts.{view} where {WHOLE}"):
        sides = {
            side: {
                name: row[name]
                for name in row
                if name.startswith(f"{side}_") and name not in (f"{side}_run_id", f"{side}_step")
            }
            for side in ("base", "comparison")
        }
        for side, sign in (("base", 1), ("comparison", -1)):
            if all(value is None for value in sides[side].values()):
                for base, comparison, diff in kinds(view, "diff"):
                    measured = row[comparison] if side == "base" else row[base]
                    if measured is not None:
                        assert row[diff] == sign * measured, (diff, row)


@pytest.mark.parametrize("view", COMPARISONS)
def test_a_comparison_with_a_run_that_has_nothing_has_no_figures_on_that_side(view):
    empty = views(v1=run(1, 200), v2=[problem("truncated")])
    scope = "" if "base_step" not in _columns(view) else " and base_step is null"
    for row in dicts(empty, f"select * from marts.{view} where base_run_id = 'v1' and comparison_run_id = 'v2'{scope}"):
        assert all(row[comparison] is None for _, comparison, _ in kinds(view, "diff"))


# Marts whose columns a comparison repeats with the side before them, and what tells a row among those of a scope.
REPEATED = {
    "kernel_comparison": ("kernel", ("kernel_name", "input_shapes")),
    "operator_comparison": ("operator", ("operator_name",)),
    "communication_comparison": ("communication", ("collective_name",)),
    "host_call_comparison": ("host_call", ("call_name", "call_kind")),
    "memory_comparison": ("memory", ("operator_name",)),
    "memory_peak_comparison": ("memory_peak", ("device_ordinal",)),
    "step_comparison": ("step_average", ("metric", "device_ordinal")),
}


def uneven(*, by):
    """A run in which no two figures of a row are the same, and none that of a run with another `by`."""
    return [
        [step(number, number * 1000, 900 + by) for number in (1, 2)],
        [
            launched("aten::mm", "[[8]]", at, "gemm", at + 100, by * width)
            for at, width in ((1010, 1), (1030, 2), (1050, 5))
        ],
        launch("cudaLaunchKernel", 2050, 3, correlation=7),
        collective("allreduce", 1700, 40 * by, sent=10, received=10 * by),
        collective("allreduce", 2100, 11 * by, sent=10, received=10 * by),
        op("aten::outer", 2200, 100 * by),
        op("aten::inner", 2210, 10 * by),
        memory(512 * by, at=2201, address=1, allocated=700 * by, reserved=4096 * by),
        memory(64 * by, at=2202, address=2, allocated=600, reserved=4096),
        memory(-64 * by, at=2240 + by, address=2, allocated=500, reserved=4096),
    ]


@pytest.fixture(scope="module")
def uneven_house():
    return views(v1=uneven(by=1), v2=uneven(by=3))


@pytest.mark.parametrize("view", REPEATED)
def test_each_side_has_the_figures_of_its_own_run(uneven_house, view):
    mart, names = REPEATED[view]
    columns = _columns(view)
    scope = WHOLE if "base_step" in columns else "base_run_id = 'v1' and comparison_run_id = 'v2'"
    scope += " and depth = 0" if "depth" in columns else ""
    found = dicts(uneven_house, f"select * from marts.{view} where {scope}")
    whole = " and step is null" if "step" in _columns(mart) else ""
    checked = 0
    for side, run_id in (("base", "v1"), ("comparison", "v2")):
        rows = dicts(uneven_house, f"select * from marts.{mart} where run_id = '{run_id}'{whole}")
        by_key = {tuple(row[name] for name in names): row for row in rows}
        assert len(by_key) == len(rows), "one row a key, so that nothing is summed"
        for row in found:
            own = by_key[tuple(row[name] for name in names)]
            for name in own:
                if f"{side}_{name}" in columns and name not in ("run_id", "step"):
                    assert row[f"{side}_{name}"] == own[name], (side, name)
                    checked += 1
    assert checked >= 4 * len(found)


# -- steps -----------------------------------------------------------------------------------------------------


def test_a_step_compares_with_any_step_and_with_a_whole_run(house):
    of_gemm = "kernel_name = 'gemm' and input_shapes is not null"
    columns = "base_total_duration_ns, comparison_total_duration_ns"
    for base, comparison in itertools.product((None, 1, 2), (None, 1, 2, 3)):
        asked = f"marts.kernel_comparison_of_steps('v1', {base or 'null'}, 'v3', {comparison or 'null'})"
        found = house.rows(f"select {columns} from {asked} where {of_gemm}")
        assert found == [(200 if base else 400, 200 if comparison else 600)]


def test_the_average_step_adds_up_complete_steps_as_each_measure_says():
    """Sums and calls by steps, averages by calls, the longest and the shortest of all; step 3 lacks a kernel."""
    v1 = [
        [step(1, 0, 100), launched("aten::mm", "[[8]]", 10, "gemm", 20, 30)],
        [step(2, 100, 100), [launched("aten::mm", "[[8]]", 110 + 20 * n, "gemm", 130 + 20 * n, 11) for n in range(2)]],
        [
            step(3, 200, 100),
            launched("aten::mm", "[[8]]", 210, "gemm", 220, 999),
            launch("cudaLaunchKernel", 250, 3, 7),
        ],
    ]
    v2 = [[step(1, 0, 100), launched("aten::mm", "[[8]]", 10, "gemm", 20, 30)]]
    columns = "total_duration_ns, average_duration_ns, max_duration_ns, min_duration_ns, call_count"
    both = ", ".join(f"{side}_{column}" for side in ("base", "comparison") for column in columns.split(", "))
    house = views(v1=v1, v2=v2)
    (found,) = house.rows(
        f"select {both}, diff_total_duration_ns from marts.kernel_comparison"
        f" where base_run_id = 'v1' and comparison_run_id = 'v2' and base_step = {AVERAGE_STEP}"
    )
    # v1: 30 + 11 + 11 in two complete steps, three calls
    assert found == (26, 17, 30, 11, 2, 30, 30, 30, 30, 1, 4)


def test_the_average_step_is_the_one_of_the_averages_of_steps(house):
    """E2E time and its parts by the two ways to get there."""
    pair = "base_run_id = 'v1' and comparison_run_id = 'v3'"
    average = house.pairs(
        f"select (device_ordinal, metric), base_average_duration_ns from marts.step_comparison where {pair}"
    )
    found = house.pairs(
        f"select (device_ordinal, metric), base_duration_ns from marts.overall_comparison where {pair}"
        f" and base_step = {AVERAGE_STEP} and depth < 2"
    )
    shared = set(average) & set(found)
    assert (0, "E2E Time") in shared
    assert (None, "Host Wall Clock") in shared
    assert {key: found[key] for key in shared} == {key: average[key] for key in shared}
    of_headline = house.pairs(
        f"select (device_ordinal, metric), base_duration_ns from marts.headline_comparison where {pair}"
        f" and base_step = {AVERAGE_STEP}"
    )
    assert of_headline[0, "E2E Time"] == average[0, "E2E Time"]


# -- figures of one comparison -----------------------------------------------------------------------------------


def test_kernels_compare_by_name_and_shapes(house):
    columns = (
        "base_total_duration_ns, comparison_total_duration_ns, base_call_count, comparison_call_count, diff_call_count"
    )
    found = house.pairs(f"select (kernel_name, input_shapes), {columns} from marts.kernel_comparison where {WHOLE}")
    assert found == {
        ("gemm", "[[8]]"): (400, 520, 2, 2, 0),
        ("gemm", None): (10, 30, 1, 2, 1),
        ("relu_kernel", "[[4]]"): (50, None, 1, None, -1),
        ("gelu_kernel", "[[4]]"): (None, 70, None, 1, 1),
        ("gelu_kernel", "[[5]]"): (None, 70, None, 1, 1),
        ("ncclDevKernel", None): (85, 85, 3, 3, 0),
    }


def test_one_kernel_of_two_classes_has_one_row_with_the_class_of_most_time():
    house = views(
        v1=[
            launched("aten::convolution", None, 100, "shared", 200, 5),
            launched("aten::mm", None, 120, "shared", 300, 7),
            launched("aten::convolution", None, 140, "shared", 400, 10),
        ],
        v2=[],
    )
    columns = (
        "kernel_class, base_total_duration_ns, base_average_duration_ns, base_max_duration_ns, base_min_duration_ns"
    )
    # 22 in 3 calls: 7.33 on average
    assert house.rows(f"select {columns} from marts.kernel_comparison where {WHOLE}") == [("Conv", 22, 7, 10, 5)]


def test_between_devices_of_two_kinds_each_call_weighs_the_same_in_the_average_of_an_operator():
    # aten::mm has one call with a kernel of 10, and three of another shape with kernels of 20.
    gpu = [
        launched("aten::mm", f"[[{min(at, 200)}]]", at, "gemm", 1000 + at, 10 if at == 100 else 20)
        for at in (100, 200, 300, 400)
    ]
    house = views(v1=gpu, v2=[detail("MatMul_1", "MatMulV2", 10, 7)])
    columns = "kernel_type, base_call_count, base_total_duration_ns, base_average_duration_ns"
    sql = f"select {columns} from marts.kernel_type_comparison where {WHOLE} and base_call_count is not null"
    assert house.rows(sql) == [("aten::mm", 4, 70, 18)]
    kernels = "input_shapes, base_call_count, base_average_duration_ns"
    sql = f"select {kernels} from marts.kernel_comparison where {WHOLE} and kernel_name = 'aten::mm' order by 1"
    assert house.rows(sql) == [("100", 1, 10), ("200", 3, 20)]


def test_communication_sums_groups_and_types_up():
    house = views(
        v1=[
            collective("allreduce", 10, 10, group="a", sent=1, received=1),
            collective("allreduce", 30, 25, group="b", dtype="Half", sent=1, received=1),
        ],
        v2=[collective("allreduce", 10, 30, sent=1, received=5)],
    )
    assert house.one(
        "select base_call_count, base_total_duration_ns, base_average_duration_ns, base_max_duration_ns,"
        " base_min_duration_ns, base_output_bytes, comparison_output_bytes, diff_output_bytes, ratio_total_duration_ns"
        f" from marts.communication_comparison where {WHOLE}"
    ) == (2, 35, 18, 25, 10, 6, 20, 14, 30 / 35)


def test_memory_sums_devices_up():
    house = views(
        v1=[memory(10, at=5, device=0), memory(30, at=6, device=1), memory(-30, at=16, device=1)],
        v2=[memory(5, at=5), memory(-5, at=9)],
    )
    assert house.one(
        "select base_allocated_bytes, base_allocation_count, base_max_allocation_bytes, base_held_duration_ns,"
        " diff_allocated_bytes, diff_held_duration_ns, ratio_allocated_bytes"
        f" from marts.memory_comparison where {WHOLE}"
    ) == (40, 2, 30, 10, -35, 4 - 10, 5 / 40)


def test_memory_peaks_compare_by_the_place_of_the_device(house):
    assert house.one(
        "select device_ordinal, base_peak_reserved_bytes, comparison_peak_reserved_bytes, diff_peak_reserved_bytes,"
        f" diff_peak_allocated_bytes, ratio_peak_reserved_bytes from marts.memory_peak_comparison where {WHOLE}"
    ) == (0, 9000, 9500, 500, -1000, 9500 / 9000)
    other = views(v1=[memory(1, at=5, device=2, reserved=8)], v2=[memory(1, at=5, device=6, reserved=10)])
    assert other.one(
        f"select device_ordinal, diff_peak_reserved_bytes from marts.memory_peak_comparison where {WHOLE}"
    ) == (
        0,
        2,
    )


def test_collectives_of_several_groups_are_one_row_and_each_call_weighs_the_same_in_its_average():
    def steps(shift):
        inside = [
            [
                step(number, 1000 * number, 1000),
                launch("x", 1000 * number + 1, 1, correlation=number),
                collective("allreduce", 1000 * number + 100, 10 * number + shift, group="tp", correlation=number),
            ]
            for number in (1, 2)
        ]
        return [*inside, *(collective("allreduce", at, 20, group="dp") for at in (5000, 5100, 5200))]

    house = views(v1=steps(0), v2=steps(8))
    columns = "base_call_count, base_average_duration_ns, base_collective_duration_ns, comparison_average_duration_ns"
    assert house.one(f"select {columns} from marts.communication_comparison where {WHOLE}") == (5, 18, 90, 21)
    found = "select base_step, comparison_step, base_collective_duration_ns, comparison_collective_duration_ns"
    assert house.rows(
        f"{found} from marts.communication_comparison where base_run_id = 'v1' and comparison_run_id = 'v2'"
        " and base_step is not null and comparison_step is not null order by all"
    ) == [(-1, -1, 15, 23), (1, 1, 10, 18), (2, 2, 20, 28)]  # the average step first


def test_host_calls_compare_by_name_and_kind():
    house = views(v1=[op("f", 0, 10), annotation("f", 20, 5)], v2=[op("f", 0, 16), launch("x", 2, 1), op("f", 30, 2)])
    columns = "diff_self_duration_ns, diff_total_duration_ns, diff_call_count, ratio_self_duration_ns"
    assert house.pairs(f"select (call_name, call_kind), {columns} from marts.host_call_comparison where {WHOLE}") == {
        ("f", "operator"): (7, 8, 1, 1.7),
        ("f", "annotation"): (-5, -5, -1, None),
        ("x", "runtime"): (1, 1, 1, None),
    }


def test_operators_compare_device_and_host_time_apart(house):
    columns = "diff_device_duration_ns, diff_device_activity_count, diff_call_count, diff_host_duration_ns"
    found = house.pairs(f"select operator_name, {columns} from marts.operator_comparison where {WHOLE}")
    assert found["aten::mm"] == (120, 0, 0, 0)
    assert found["aten::relu"] == (-50, -1, -1, -10)
    assert found["aten::gelu"] == (140, 2, 2, 20)
    assert found["(no operator)"] == (0, 0, None, None)  # on the host, nothing to measure on either side


def test_overall_metrics_compare_by_the_place_of_the_device(house):
    # The second device is number 1 in v1 and number 3 in v2.
    found = house.pairs(
        "select device_ordinal, base_duration_ns, comparison_duration_ns, diff_duration_ns"
        f" from marts.overall_comparison where {WHOLE} and metric = 'E2E Time'"
    )
    assert found[1] == (10, 70, 60)


def test_what_one_run_measured_on_a_device_or_class_of_its_own_is_new():
    house = views(
        v1=[kernel("gemm", 0, 10)],
        v2=[kernel("gemm", 0, 10), kernel("flash_fwd_kernel", 20, 5), kernel("gemm", 0, 30, device=1)],
    )
    columns = "diff_duration_ns, diff_call_count, diff_total_duration_ns"
    found = house.pairs(
        f"select (device_ordinal, metric), {columns} from marts.overall_comparison where {WHOLE} and metric <> 'Free'"
    )
    assert found[0, "Matmul"] == (0, 0, 0)
    assert found[0, "Flash Attention"] == (5, 1, 5)
    assert found[1, "Computing Time"] == (30, 1, 30)
    assert found[1, "E2E Time"] == (30, 1, None)


def test_the_differences_of_the_parts_sum_to_that_of_the_whole(house):
    rows = house.rows(
        "select whole.diff_duration_ns, sum(part.diff_duration_ns) from marts.overall_comparison whole"
        " inner join marts.overall_comparison part using (base_run_id, comparison_run_id, device_ordinal)"
        " where part.parent_metric = whole.metric and whole.base_step is not distinct from part.base_step"
        " and whole.comparison_step is not distinct from part.comparison_step and whole.metric <> 'Communication Time'"
        " group by whole.base_run_id, whole.base_step, whole.comparison_run_id, whole.comparison_step,"
        " whole.device_ordinal, whole.metric, whole.diff_duration_ns"
    )
    assert len(rows) > 100
    assert all(whole == parts for whole, parts in rows)


def test_the_tree_of_overall_metrics_stays_a_tree_where_the_runs_have_other_classes():
    # Matmul in the base, Conv and Vector in the comparison: each part follows its whole in the declared order.
    house = views(
        v1=[kernel("gemm", 0, 10), kernel("mystery", 10, 10)],
        v2=[
            kernel("implicit_convolve", 0, 5),
            kernel("elementwise", 5, 5),
            kernel("batched_transpose", 10, 5),
            kernel("flash_fwd_kernel", 15, 5),
        ],
    )
    order = catalog().views["marts.overall_comparison"].order
    path = []
    for metric, parent, depth in house.rows(
        f"select metric, parent_metric, depth from marts.overall_comparison where {WHOLE} order by {order}"
    ):
        path[depth:] = [metric]
        assert (path[depth - 1] if depth else None) == parent, f"{metric} stands under {path[depth - 1]}"


@pytest.mark.parametrize("unmeasured", ["v1", "v2"])
def test_what_one_run_did_not_measure_has_no_difference(unmeasured):
    # One run recorded the host alone. Its device times are unknown, and so is any difference from them.
    runs = {"v1": run(1, 200), "v2": run(1, 200)} | {unmeasured: [op("aten::mm", 0, 10)]}
    house = views(**runs)
    side = "base" if unmeasured == "v1" else "comparison"
    for view, name, value in (
        ("headline_comparison", "metric", "duration_ns"),
        ("overall_comparison", "metric", "duration_ns"),
        ("operator_comparison", "operator_name", "device_duration_ns"),
    ):
        sql = f"select {name}, {side}_{value}, diff_{value}, ratio_{value} from marts.{view} where {WHOLE}"
        assert house.pairs(sql)["aten::mm" if name == "operator_name" else "E2E Time"] == (None, None, None), view


# -- the headline ------------------------------------------------------------------------------------------------

HEADLINE = "select metric, base_duration_ns, comparison_duration_ns, diff_duration_ns from marts.headline_comparison"


def test_the_headline_is_the_e2e_time_and_its_parts(house):
    assert house.rows(
        f"select metric, depth, base_duration_ns, comparison_duration_ns from marts.headline_comparison where {WHOLE}"
        " and device_ordinal = 0 order by metric_order"
    ) == [
        # v1: from 1100 to 2730; v2: the same. Steps of 1000 with gemm, collective 40, copy 30.
        ("E2E Time", 0, 1630, 1805),
        ("Computing Time", 1, 450, 660),
        ("Uncovered Communication Time", 1, 85, 85),
        ("SDMA", 1, 60, 60),
        ("Free", 1, 1630 - 450 - 85 - 60, 1805 - 660 - 85 - 60),
    ]


def test_the_parts_sum_to_the_e2e_time_and_their_differences_to_its_own_in_every_scope(house):
    rows = dicts(house, "select * from marts.headline_comparison")
    groups = {}
    for row in rows:
        at = tuple(row[name] for name in ("base_run_id", "base_step", "comparison_run_id", "comparison_step"))
        groups.setdefault((*at, row["device_ordinal"]), []).append(row)
    assert len(groups) > 20
    for group in groups.values():
        (whole,) = [row for row in group if row["depth"] == 0]
        parts = [row for row in group if row["depth"] == 1]
        assert len(parts) == 4
        is_average = whole["scope"].startswith("average")
        for column in ("base_duration_ns", "comparison_duration_ns", "diff_duration_ns"):
            # Averages are rounded one by one, each by half a nanosecond at most.
            assert abs(sum(row[column] for row in parts) - whole[column]) <= (5 if is_average else 0)
        if whole["diff_duration_ns"]:
            if not is_average:
                assert math.isclose(sum(row["share_of_diff"] for row in parts), 1)
            assert whole["share_of_diff"] == 1
        else:
            assert {row["share_of_diff"] for row in group} == {None}


def scope_of(**runs):
    """(scope, base, comparison) of the E2E time of two whole runs."""
    return views(**runs).one(
        "select scope, base_duration_ns, comparison_duration_ns from marts.headline_comparison"
        f" where {WHOLE} and metric = 'E2E Time' and device_ordinal = 0"
    )


def test_whole_runs_with_equal_numbers_of_steps_compare_as_they_are():
    # One step: from the kernel at 1100 to the end of the copy at 1730; two: to 2730.
    assert scope_of(v1=run(1, 200), v2=run(1, 300)) == ("whole run", 630, 630)
    assert scope_of(v1=run(2, 200), v2=run(2, 300)) == ("whole run", 1630, 1630)


def test_whole_runs_with_other_numbers_of_steps_compare_by_their_average_complete_step():
    assert scope_of(v1=run(1, 200), v2=run(3, 300)) == ("average complete step", 630, 630)
    assert scope_of(v1=run(3, 200), v2=run(1, 300)) == ("average complete step", 630, 630)


def test_incomplete_steps_are_not_in_the_average():
    # The third step of v2 has a launch whose kernel is lost, and a long kernel.
    cut = [
        step(3, 3000, 1000),
        launch("cudaLaunchKernel", 3010, 1, correlation=3010),
        launch("cudaLaunchKernel", 3020, 1, correlation=3020),
        kernel("gemm", 3100, 9000, correlation=3020),
    ]
    assert scope_of(v1=run(1, 200), v2=run(2, 300, *cut)) == ("average complete step", 630, 630)


def test_without_a_complete_step_or_without_steps_whole_runs_compare():
    lost = [step(1, 1000, 1000), launch("cudaLaunchKernel", 1010, 1, correlation=5), kernel("gemm", 1100, 70)]
    assert scope_of(v1=lost, v2=run(2, 300)) == ("whole run", 70, 1630)
    assert scope_of(v1=[kernel("gemm", 1100, 70)], v2=run(2, 300)) == ("whole run", 70, 1630)


def test_one_pair_has_one_scope_and_a_step_compares_as_a_step(house):
    scopes = house.pairs(
        "select (base_run_id, base_step, comparison_run_id, comparison_step), list(distinct scope order by scope)"
        " from marts.headline_comparison group by 1"
    )
    assert all(len(scope) == 1 for scope in scopes.values())
    assert scopes["v1", None, "v2", None] == ["whole run"]
    assert scopes["v1", None, "v3", None] == ["average complete step"]
    assert scopes["v1", AVERAGE_STEP, "v3", AVERAGE_STEP] == ["average complete step"]
    assert scopes["v1", 1, "v3", 1] == ["step"]
    for other in (2, None):
        asked = f"marts.headline_comparison_of_steps('v1', 1, 'v3', {other or 'null'})"
        assert house.rows(f"select distinct scope from {asked}") == [("step",)]


def test_the_headline_matches_devices_by_their_place():
    house = views(
        v1=[kernel("a", 0, 10, device=4), kernel("b", 0, 20, device=5)],
        v2=[kernel("a", 0, 30, device=0), kernel("b", 0, 50, device=1)],
    )
    sql = "select device_ordinal, diff_duration_ns from marts.headline_comparison"
    assert house.pairs(f"{sql} where {WHOLE} and metric = 'E2E Time'") == {0: 20, 1: 30}


# -- the average step ----------------------------------------------------------------------------------------------


def test_average_steps_compare_runs_with_other_numbers_of_steps(house):
    found = house.pairs(
        "select (device_ordinal, metric), base_average_duration_ns, comparison_average_duration_ns,"
        " diff_average_duration_ns, ratio_average_duration_ns from marts.step_comparison"
        " where base_run_id = 'v2' and comparison_run_id = 'v3'"
    )
    assert found[None, "Step Length"] == (1000, 1000, 0, 1.0)
    # v2: two steps of gemm 260 and gelu 70; v3: three of gemm 200
    assert found[0, "Computing Time"] == (330, 200, -130, 200 / 330)
    assert found[0, "SDMA"] == (30, 30, 0, 1.0)
    counts = "base_step_count, base_complete_step_count, comparison_step_count, comparison_complete_step_count"
    assert house.rows(
        f"select distinct {counts} from marts.step_comparison where base_run_id = 'v2' and comparison_run_id = 'v3'"
    ) == [(2, 2, 3, 3)]


def test_runs_without_steps_have_no_average_to_compare():
    house = views(v1=[kernel("a", 0, 10)], v2=run(1, 200))
    assert house.rows("select * from marts.step_comparison where base_run_id = 'v1'") == []
