"""Host calls by name: host_call."""

from __future__ import annotations

from tests.support.events import annotation, device_flow, event, launch, op, step
from tests.support.views import views

COLUMNS = "call_count, total_duration_ns, self_duration_ns, average_duration_ns, max_duration_ns, min_duration_ns"


def test_calls_are_counted_by_name_and_kind_for_the_run_and_for_each_step():
    # step 1          ├─────────────────────────────────────┤
    # aten::linear       ├────────────── 40 ────────────┤
    # aten::mm               ├─── 15 ──┤  ├─ 10 ─┤
    # cudaLaunch               ├ 5 ┤
    # after the step                                             aten::mm ├ 2 ┤
    house = views(
        step(1, 0, 100),
        op("aten::linear", 10, 40),
        op("aten::mm", 12, 15),
        launch("cudaLaunchKernel", 15, 5),
        op("aten::mm", 30, 10),
        op("aten::mm", 200, 2),
    )
    assert house.rows(f"select step, call_name, call_kind, {COLUMNS} from marts.host_call order by all") == [
        (1, "aten::linear", "operator", 1, 40, 15, 40, 40, 40),
        (1, "aten::mm", "operator", 2, 25, 20, 13, 15, 10),  # 12.5 is rounded
        (1, "cudaLaunchKernel", "runtime", 1, 5, 5, 5, 5, 5),
        (None, "aten::linear", "operator", 1, 40, 15, 40, 40, 40),
        (None, "aten::mm", "operator", 3, 27, 22, 9, 15, 2),
        (None, "cudaLaunchKernel", "runtime", 1, 5, 5, 5, 5, 5),
    ]


def test_what_only_finds_its_place_in_the_tree_is_no_call():
    house = views(
        op("aten::mm", 0, 50),
        event("enqueue", "Enqueue", 20, 5, correlation=3),
        device_flow(7, 10, 100),
    )
    kinds = "select call_kind, count(*) from intermediate.int_host_call group by 1"
    assert house.pairs(kinds) == {"operator": 1, "enqueue": 1, "launch": 1}
    assert house.rows("select call_name, call_kind from marts.host_call") == [("aten::mm", "operator")]
    assert house.one("select host_call_count from intermediate.int_run_size") == (1,)


def test_one_name_of_two_kinds_has_two_rows():
    house = views(op("f", 0, 10), annotation("f", 20, 5), launch("f", 30, 2))
    assert house.pairs("select call_kind, total_duration_ns from marts.host_call") == {
        "operator": 10,
        "annotation": 5,
        "runtime": 2,
    }


def test_self_times_of_a_thread_sum_to_the_time_that_its_root_calls_take():
    # roots ├──────── 40 ────────┤   ├── 20 ──┤
    house = views(
        op("a", 0, 40), op("b", 5, 20), op("b", 10, 5), launch("x", 27, 3), annotation("n", 50, 20), op("b", 55, 1)
    )
    assert house.one("select sum(self_duration_ns)::bigint from marts.host_call where step is null") == (40 + 20,)


def test_a_step_marker_has_no_row_and_calls_outside_steps_count_in_the_run_alone():
    house = views(step(1, 100, 10), op("before", 0, 10))
    assert house.rows("select step, call_name from marts.host_call") == [(None, "before")]


def test_a_call_counts_whole_in_the_step_in_which_it_started():
    # steps  ├── 1 ──┤├── 2 ──┤
    # f           ├────────┤
    house = views(step(1, 0, 10), step(2, 10, 10), op("f", 5, 10))
    assert house.rows("select step, total_duration_ns from marts.host_call order by all") == [(1, 10), (None, 10)]
