"""The headline: E2E time as in OverallMetrics and StepCompare, to the nanosecond; the host's clock without a device."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.events import annotation, detail, kernel, launch, memcpy, op, step
from tests.support.views import catalog, views

WHOLE = "base_run_id = 'v1' and comparison_run_id = 'v2' and base_step is null and comparison_step is null"
FIGURES = "metric, depth, base_duration_ns, comparison_duration_ns, diff_duration_ns, share_of_diff"


def headline(of=WHOLE, **runs):
    order = catalog().views["marts.headline_comparison"].order
    return views(**runs).rows(f"select {FIGURES} from marts.headline_comparison where {of} order by {order}")


# -- tables without a trace ------------------------------------------------------------------------------------------


def test_tables_alone_have_an_e2e_time_and_do_not_tell_copies():
    # v1 ├──┤        ├──┤             100–110, 150–160
    # v2 ├──┤                  ├──┤   100–110, 400–410
    tables = {
        "v1": [detail("MatMul1", "MatMul", 100, 10), detail("Add1", "Add", 150, 10)],
        "v2": [detail("MatMul1", "MatMul", 100, 10), detail("Add1", "Add", 400, 10)],
    }
    assert headline(**tables) == [
        ("E2E Time", 0, 60, 310, 250, 1.0),
        ("Computing Time", 1, 20, 20, 0, 0.0),
        ("Uncovered Communication Time", 1, 0, 0, 0, 0.0),
        ("Free Time", 1, 40, 290, 250, 1.0),
        ("SDMA", 2, None, None, None, None),
        ("Free", 2, None, None, None, None),
    ]


def test_a_trace_compares_with_tables_by_what_both_know():
    trace = [op("aten::mm", 0, 5), kernel("gemm", 10, 20), memcpy(35, 5)]
    tables = [detail("MatMul1", "MatMul", 100, 10), detail("Add1", "Add", 150, 10)]
    assert headline(v1=trace, v2=tables) == [
        ("E2E Time", 0, 30, 60, 30, 1.0),
        ("Computing Time", 1, 20, 20, 0, 0.0),
        ("Uncovered Communication Time", 1, 0, 0, 0, 0.0),
        ("Free Time", 1, 10, 40, 30, 1.0),
        ("SDMA", 2, 5, None, None, None),
        ("Free", 2, 5, None, None, None),
    ]


def test_traces_that_tell_copies_have_no_row_for_their_sum():
    trace = [kernel("gemm", 10, 20), memcpy(35, 5)]
    assert [row[:2] for row in headline(v1=trace, v2=trace)] == [
        ("E2E Time", 0),
        ("Computing Time", 1),
        ("Uncovered Communication Time", 1),
        ("SDMA", 1),
        ("Free", 1),
    ]


# -- runs of the host alone ------------------------------------------------------------------------------------------


def test_the_wall_clock_of_the_host_is_the_headline_where_no_run_has_a_device():
    # mm ├────────┤ add ├──┤: the wall clock counts the gap, the sum of the calls does not.
    v1 = [op("aten::mm", 10, 100), op("aten::add", 120, 30)]
    v2 = [op("aten::mm", 10, 150), op("aten::add", 170, 30)]
    assert headline(v1=v1, v2=v2) == [("Host Wall Clock", 0, 140, 190, 50, 1.0)]


def test_the_wall_clock_goes_over_all_threads_and_kinds_of_calls_to_the_last_end():
    # thread 1   ├────────────────────┤     op
    # thread 2 ├──┤                         annotation
    # thread 3           ├──┤               runtime, starts last and ends before
    calls = [op("a", 20, 100, tid=1), annotation("b", 10, 20, tid=2), launch("cudaMalloc", 60, 5, tid=3)]
    house = views(run=calls)
    assert house.rows("select step, wall_clock_ns, host_call_count, total_duration_ns from marts.host_time") == [
        (None, 110, 3, 125)
    ]


def test_each_step_has_a_wall_clock_of_its_own_and_other_numbers_of_steps_compare_by_the_average():
    v1 = [step(1, 0, 100), op("a", 10, 50)]
    v2 = [step(1, 0, 100), op("a", 10, 40), step(2, 100, 100), op("a", 110, 61)]
    house = views(v1=v1, v2=v2)
    clocks = "select step, wall_clock_ns from marts.host_time where run_id = 'v2'"
    assert house.pairs(clocks) == {None: 161, 1: 40, 2: 61}
    sql = f"select scope, base_duration_ns, comparison_duration_ns from marts.headline_comparison where {WHOLE}"
    assert house.rows(sql) == [("average step", 50, 51)]  # (40 + 61) / 2
    asked = "marts.headline_comparison_of_steps('v1', 1, 'v2', 2)"
    assert house.rows(f"select {FIGURES} from {asked}") == [("Host Wall Clock", 0, 50, 61, 11, 1.0)]


def test_against_a_run_with_a_device_the_host_compares_and_the_device_time_is_shown():
    found = headline(v1=[op("a", 10, 50)], v2=[op("a", 10, 40), kernel("k", 11, 10)])
    assert found[0] == ("Host Wall Clock", 0, 50, 40, -10, 1.0)
    assert found[1] == ("E2E Time", 0, None, 10, None, None)


def test_devices_whose_work_belongs_to_no_step_compare_as_whole_runs():
    # v1 has a step and a kernel that nothing links to it; v2 has two steps with a kernel each.
    def one(number):
        at = 100 * number
        call = launch("cudaLaunchKernel", at + 15, 1, correlation=number)
        return [step(number, at, 100), op("a", at + 10, 20), call, kernel("k", at + 30, 20, correlation=number)]

    runs = {"v1": [step(1, 0, 100), op("a", 10, 50), kernel("k", 500, 30)], "v2": [one(1), one(2)]}
    assert headline(**runs)[:2] == [("E2E Time", 0, 30, 120, 90, 1.0), ("Computing Time", 1, 30, 40, 10, 10 / 90)]
    counts = "select run_id, step_count, complete_step_count from marts.run order by 1"
    assert views(**runs).rows(counts) == [("v1", 1, 0), ("v2", 2, 2)]


def test_two_runs_with_devices_are_not_judged_by_the_host():
    run = [op("a", 0, 5), kernel("k", 2, 10)]
    assert "Host Wall Clock" not in [row[0] for row in headline(v1=run, v2=run)]


def test_what_only_one_run_measured_has_no_difference_in_overall_metrics_whatever_the_host_has():
    house = views(v1=[op("a", 10, 50)], v2=[op("a", 10, 40), kernel("gemm", 11, 10)])
    sql = f"select metric, diff_duration_ns from marts.overall_comparison where {WHOLE}"
    assert {metric: diff for metric, diff in house.rows(sql) if diff is not None} == {"Host Wall Clock": -10}


def test_operators_of_hosts_alone_stand_in_order_of_host_time():
    v1 = [op("aten::add", 0, 30), op("aten::mm", 100, 100)]
    v2 = [op("aten::add", 0, 30), op("aten::mm", 100, 150)]
    order = catalog().views["marts.operator_comparison"].order
    sql = "select operator_name, diff_device_duration_ns, diff_host_duration_ns from marts.operator_comparison"
    found = views(v1=v1, v2=v2).rows(f"{sql} where {WHOLE} order by {order}")
    assert found == [("aten::mm", None, 50), ("aten::add", None, 0)]


# -- one E2E time everywhere -----------------------------------------------------------------------------------------


def launched(at, start, duration):
    return [
        launch("cudaLaunchKernel", at, 1, correlation=at + 1),
        kernel("gemm", start, duration, correlation=at + 1),
    ]


def stepped(lengths):
    """Steps of 1000 with two kernels each, of these lengths, and a copy."""
    return [
        [
            step(number, 1000 * number, 1000),
            launched(1000 * number + 1, 1000 * number + 10, length),
            launched(1000 * number + 3, 1000 * number + 300 + 3 * length, length + number),
            memcpy(1000 * number + 200 + length, 7, correlation=1000 * number + 2),
        ]
        for number, length in enumerate(lengths, 1)
    ]


LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=4)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(LENGTHS, LENGTHS)
def test_headline_overall_metrics_and_step_compare_agree_to_the_nanosecond(base, comparison):
    house = views(v1=stepped(base), v2=stepped(comparison))
    assert_one_e2e_time(house.rows)


def assert_one_e2e_time(rows):
    """Every figure of every headline is the one of OverallMetrics, or of StepCompare where it is an average."""
    found = rows(
        "select * exclude (depth, metric_order, ratio_duration_ns, share_of_diff) from marts.headline_comparison"
    )
    overall = {row[:6]: row[6:] for row in rows(
        "select base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal, metric,"
        " base_duration_ns, comparison_duration_ns, diff_duration_ns from marts.overall_comparison")}  # fmt: skip
    average = {row[:4]: row[4:] for row in rows(
        "select base_run_id, comparison_run_id, device_ordinal, metric, base_average_duration_ns,"
        " comparison_average_duration_ns, diff_average_duration_ns from marts.step_comparison")}  # fmt: skip
    assert found
    for base, base_step, comparison, comparison_step, device, scope, metric, *figures in found:
        if scope.startswith("average"):
            assert tuple(figures) == average[base, comparison, device, metric]
        else:
            assert tuple(figures) == overall[base, base_step, comparison, comparison_step, device, metric]


def test_an_average_is_rounded_once_and_not_per_part():
    house = views(v1=stepped([50]), v2=stepped([50, 50, 51]))
    sums = "select metric, sum(duration_ns)::bigint from marts.overall where run_id = 'v2' and step is not null"
    exact = {metric: Fraction(total, 3) for metric, total in house.pairs(f"{sums} group by metric").items()}
    found = house.pairs(f"select metric, comparison_duration_ns from marts.headline_comparison where {WHOLE}")
    assert found == {metric: round(exact[metric]) for metric in found}
    # E2E 493.33 on average; of its parts, computing 102.67 and idle 383.67 are rounded up.
    assert (found["E2E Time"], sum(found.values()) - found["E2E Time"]) == (493, 494)


def test_an_average_of_a_device_compares_with_that_of_the_same_place():
    def run(*lengths):
        return [
            step(1, 0, 1000),
            [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (1, 2)],
            [kernel("k", 100, length, device=at, correlation=at) for at, length in enumerate(lengths, 1)],
        ]

    house = views(v1=run(10, 20), v2=run(30, 50))
    columns = "device_ordinal, base_average_duration_ns, comparison_average_duration_ns"
    sql = f"select {columns} from marts.step_comparison where metric = 'Computing Time'"
    assert house.rows(f"{sql} and base_run_id = 'v1' and comparison_run_id = 'v2' order by 1") == [
        (0, 10, 30),
        (1, 20, 50),
    ]


@pytest.mark.parametrize("view", ["headline_comparison", "overall_comparison"])
def test_a_metric_has_one_row_for_each_pair_of_scopes(view):
    house = views(v1=stepped([5, 6]), v2=[*stepped([5]), op("a", 0, 9000)])
    assert house.rows(
        "select device_ordinal from marts.metric where run_id = 'v2' and step is null and depth = 0 order by 1"
    ) == [(0,), (0,), (None,)]
    key = "base_run_id, base_step, comparison_run_id, comparison_step, device_ordinal, metric"
    assert house.rows(f"select {key} from marts.{view} group by all having count(*) > 1") == []
