"""Given cases about what is one kernel, one signature and one stream, each with the outcome of its `expected.md`.

The same kinds of fault are tested on rows of our own in `views/test_kernel_key.py`, `views/test_macros.py` and
`views/test_device_activity.py`. Numbers are in nanoseconds.
"""

from __future__ import annotations

import pipeline
from pipeline.comparison.matching import Matching
from tests.support.asking import overall, pairs, rows
from tests.support.paths import CASES, needs_shared

pytestmark = needs_shared


def source(case, name="a.json"):
    return next(CASES.glob(f"{case}-*")) / name


def compared(house, case, names=("a.json", "b.json"), **options):
    return pipeline.compare(*(source(case, name) for name in names), warehouse=house, **options).tables


def test_110_lists_of_tensors_are_signatures_of_their_own(tmp_path):
    pipeline.ingest(source("110"), label="a", warehouse=tmp_path)
    kernels = rows(
        tmp_path, "select input_shapes, call_count, total_duration_ns from marts.kernel where step is null order by 1"
    )
    assert [(row["call_count"], row["total_duration_ns"]) for row in kernels] == [(1, 10_000)] * 3
    operators = "select operator_shapes, total_duration_ns from marts.operator_kernel where step is null"
    assert pairs(tmp_path, operators) == {"[2,3;4,5];6,7;": 10_000, "2,3;4,5;6,7;": 10_000, "[2,3];4,5;6,7;": 10_000}


def test_118_a_kernel_of_no_length_inside_another_is_no_alarm(tmp_path):
    (run,) = pipeline.ingest(source("118"), label="a", warehouse=tmp_path)
    figures = overall(tmp_path, "a")
    assert (figures["Computing Time"], figures["E2E Time"]) == (20_000, 20_000)
    thin = "select call_count, total_duration_ns from marts.kernel where kernel_name = 'k_thin' and step is null"
    assert rows(tmp_path, thin) == [{"call_count": 1, "total_duration_ns": 0}]
    assert (run.problems, rows(tmp_path, "select * from marts.problem")) == ((), [])


def test_125_kernels_that_differ_in_the_numbers_of_lambdas_pair(tmp_path):
    (row,) = compared(tmp_path, "125")["kernel_comparison"].rows.to_pylist()
    assert (row["base_total_duration_ns"], row["comparison_total_duration_ns"]) == (40_000, 60_000)
    assert (row["diff_total_duration_ns"], row["ratio_total_duration_ns"]) == (20_000, 1.5)
    assert "{lambda()#3}" in row["base_kernel_name"]
    assert "{lambda()#12}" in row["comparison_kernel_name"]
    assert (row["base_kernel_name_count"], row["comparison_kernel_name_count"]) == (1, 1)


def test_131_a_list_of_tensors_and_as_many_tensors_are_two_rows(tmp_path):
    for other in ("b.json", "control.json"):
        tables = compared(tmp_path, "131", ("a.json", other), matching=Matching(use_input_shape=True))
        found = [row["diff_total_duration_ns"] for row in tables["kernel_comparison"].rows.to_pylist()]
        assert sorted(found) == [-10_000, 30_000]
        details = tables["operator_detail_comparison"].rows.to_pylist()
        assert sorted(row["diff_device_duration_ns"] for row in details) == [-10_000, 30_000]
