"""Top-level operators and the device time that they launched: operator."""

from __future__ import annotations

import random

from tests.support.events import annotation, kernel, launch, memcpy, op, step
from tests.support.views import views

COLUMNS = "operator_name, call_count, host_duration_ns, device_activity_count, device_duration_ns"


def test_device_time_goes_to_the_outermost_operator_around_the_launch():
    # aten::linear ├─────────────────────┤  ├──────┤
    # aten::mm        ├─────────┤
    # launches           │1  │2       │3
    house = views(
        annotation("forward", 0, 200),
        op("aten::linear", 10, 40),
        op("aten::mm", 12, 20),
        [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (15, 18, 40)],
        op("aten::linear", 100, 30),
        kernel("a", 300, 10, correlation=15),
        memcpy(310, 5, correlation=18),
        kernel("b", 320, 7, correlation=40),
    )
    assert house.rows(f"select {COLUMNS} from marts.operator") == [("aten::linear", 2, 70, 3, 22)]


def test_an_activity_belongs_to_every_operator_around_its_launch():
    # 0 aten::linear ├─────────────────────┤
    # 1 note           ├───────────────┤
    # 2 aten::mm          ├─────────┤
    # launches               │3           │4
    events = [
        op("aten::linear", 10, 40),
        annotation("note", 11, 30),
        op("aten::mm", 12, 20),
        [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (15, 45)],
        kernel("a", 300, 10, correlation=15),
        kernel("b", 320, 7, correlation=45),
    ]
    house = views(*events)
    launches = "select event_index, activity_index, is_own from intermediate.int_operator_launch order by all"
    assert house.rows(launches) == [(0, 5, False), (0, 6, True)]
    sums = "event_index, self_activity_count, self_device_duration_ns, device_activity_count, device_duration_ns"
    assert house.rows(f"select {sums} from intermediate.int_operator_call order by all") == [
        (0, 1, 7, 2, 17),
        (2, 1, 10, 1, 10),
    ]
    # Those inside others are listed only where operators are to be opened.
    assert house.rows("select event_index, kernels from intermediate.int_operator_kernel") == [
        (0, "a, Matmul, stream 7: 10 ns\nb, Matmul, stream 7: 7 ns"),
    ]
    opened = views(*events)
    opened.connection.execute("set variable max_kernel_num = 4")
    assert opened.rows(launches) == [(0, 5, False), (0, 6, True), (2, 5, True)]


def test_a_call_that_outlasts_the_operators_around_its_start_counts():
    # first   ├──────────┤              launches until 20, then ends
    # second       ├──────────────┤     crosses the first: the launch at 25 is its own
    # inside          ├──────┤          crosses the first, too, but the second is around all of it
    # nested         ├──┤               lies in the first
    house = views(
        op("first", 0, 20),
        op("second", 10, 30),
        op("inside", 15, 15),
        op("nested", 13, 2),
        [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (5, 16, 35)],
        kernel("a", 100, 3, correlation=5),
        kernel("b", 110, 4, correlation=16),
        kernel("c", 120, 5, correlation=35),
    )
    assert house.rows(f"select {COLUMNS} from marts.operator order by 1") == [
        ("first", 1, 20, 2, 7),
        ("second", 1, 30, 1, 5),
    ]


def test_calls_that_cross_in_a_staircase_each_count_once_and_in_the_step_of_their_start():
    # step 1 ├─────────────┤  step 2 ├──────────┤
    # a        ├─────┤
    # note        ├──────────────┤                an annotation is no operator, and hides none
    # b              ├──────────┤
    # c                     ├──────────┤
    # a                                   ├──┤    on another thread
    house = views(
        step(1, 0, 50),
        step(2, 50, 50),
        op("a", 5, 20),
        annotation("note", 10, 60),
        op("b", 20, 25),
        op("c", 40, 30),
        op("a", 75, 5, tid=2),
        op("b", 76, 9, tid=2),
    )
    assert house.rows("select step, operator_name, call_count from marts.operator order by all") == [
        (1, "a", 1),
        (1, "b", 1),
        (1, "c", 1),
        (2, "a", 1),
        (2, "b", 1),
        (None, "a", 2),
        (None, "b", 2),
        (None, "c", 1),
    ]
    assert house.pairs("select call_name, call_count from marts.host_call where step is null") == {
        "a": 2,
        "b": 2,
        "c": 1,
        "note": 1,
    }


def test_of_calls_that_end_together_the_one_around_counts():
    house = views(op("a", 0, 20), op("b", 5, 15), op("c", 10, 20), op("d", 15, 15), op("e", 20, 0), op("f", 30, 0))
    assert house.pairs("select operator_name, call_count from marts.operator where step is null") == {
        "a": 1,
        "c": 1,
        "f": 1,
    }


def test_device_time_without_an_operator_has_rows_named_in_parentheses():
    house = views(
        launch("cudaLaunchKernel", 10, 1, correlation=1),
        launch("cudaGraphLaunch", 20, 1, correlation=2),
        kernel("a", 100, 1, correlation=1),
        kernel("b", 110, 2, correlation=2),
        kernel("c", 120, 4, correlation=2),
        kernel("d", 130, 8, correlation=99),
        memcpy(140, 16),
    )
    assert house.rows(f"select {COLUMNS} from marts.operator order by 1") == [
        ("(graph launch)", None, None, 2, 6),
        ("(no launch in the trace)", None, None, 2, 24),
        ("(no operator)", None, None, 1, 1),
    ]


def test_an_operator_that_launches_nothing_has_zero_device_time():
    house = views(op("aten::view", 0, 10), kernel("a", 100, 5))
    assert house.rows(f"select {COLUMNS} from marts.operator order by 1") == [
        ("(no launch in the trace)", None, None, 1, 5),
        ("aten::view", 1, 10, 0, 0),
    ]


def test_in_a_run_without_device_activities_device_time_is_unknown():
    house = views(op("aten::view", 0, 10), kernel("no time", 100, None))
    assert house.rows(f"select {COLUMNS} from marts.operator") == [("aten::view", 1, 10, None, None)]


def test_a_step_has_the_operators_started_in_it_and_the_activities_launched_in_it():
    # steps     ├──── 1 ────┤├──── 2 ────┤
    # aten::mm          ├────────┤              starts in 1, launches in both
    house = views(
        step(1, 0, 100),
        step(2, 100, 100),
        op("aten::mm", 80, 40),
        launch("x", 90, 1, correlation=1),
        launch("x", 110, 1, correlation=2),
        kernel("a", 300, 10, correlation=1),
        kernel("b", 310, 20, correlation=2),
    )
    assert house.rows(f"select step, {COLUMNS} from marts.operator order by all") == [
        (1, "aten::mm", 1, 40, 1, 10),
        (2, "aten::mm", 0, 0, 1, 20),  # NULL would mean device time without an operator
        (None, "aten::mm", 1, 40, 2, 30),
    ]


def test_an_operator_named_like_nothing_is_kept():
    house = views(op("", 0, 10), launch("x", 5, 1, correlation=1), kernel("a", 20, 5, correlation=1))
    assert house.rows(f"select {COLUMNS} from marts.operator") == [("", 1, 10, 1, 5)]


def test_sums_over_the_rows_equal_the_device_total_in_every_scope():
    numbers = random.Random(11)
    events = [step(number, number * 100, 100) for number in range(1, 4)]
    for correlation in range(1, 120):
        at = numbers.randrange(0, 500)
        if numbers.random() < 0.6:
            events.append(op(numbers.choice("abc"), at, 3, tid=correlation, external_id=correlation))
        if numbers.random() < 0.8:
            name = numbers.choice(["cudaLaunchKernel", "cudaGraphLaunch"])
            events.append(launch(name, at + 1, 1, correlation=correlation, tid=correlation))
        for _ in range(numbers.choice([1, 1, 3])):
            external = numbers.choice([None, correlation])
            events.append(kernel("k", 1000 + at, numbers.randrange(9), correlation=correlation, external_id=external))
    house = views(events)
    operators = house.pairs(
        "select step, sum(device_activity_count)::bigint, sum(device_duration_ns)::bigint"
        " from marts.operator group by step"
    )
    total = "count(*), sum(duration_ns)::bigint from intermediate.int_device_activity"
    expected = house.pairs(f"select step, {total} where step is not null group by step")
    assert len(expected) == 3
    assert operators == expected | {None: house.one(f"select {total}")}
