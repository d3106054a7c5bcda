"""Device time by nn.Module: int_module_*, int_backward_link, int_activity_module, module, module_operator."""

from __future__ import annotations

from tests.rows import annotation, event, kernel, launch, op, python, step, views

SELF = "select module_name, device_self_duration_ns, device_total_duration_ns from marts.module where step is null"


def launched(at, duration, tid=1, **columns):
    """A launch and its kernel."""
    return [launch("x", at, 1, correlation=at, tid=tid), kernel("k", 10_000 + at, duration, correlation=at, **columns)]


def net(*inside):
    """A module Net_0 around what is given, from 0 to 1000."""
    return [python("train.py: main", 0, 1_000, 1), python("nn.Module: Net_0", 0, 1_000, 2, 1), *inside]


def test_device_time_belongs_to_the_innermost_module_around_the_launch():
    # Net_0       ├──────────────────────────────┤
    # Linear_0        ├────────┤
    # launches    │1      │2       │4             │8
    house = views(
        net(python("nn.Module: Linear_0", 100, 100, 3, 2)),
        [launched(at, duration) for at, duration in ((5, 1), (150, 2), (200, 4), (1_000, 8))],
    )
    assert house.pairs(SELF) == {"": (8, 8), "/Net_0": (5, 7), "/Net_0/Linear_0": (2, 2)}


def test_a_function_is_in_the_module_of_its_recorded_caller():
    """Profilers have been seen to record a caller further up than the real one."""
    house = views(
        net(python("nn.Module: Linear_0", 100, 100, 3, 2), python("relu", 120, 50, 4, 2)),
        launched(110, 1),
        launched(130, 2),
        launched(180, 4),
    )
    assert house.pairs(SELF) == {"/Net_0": (2, 7), "/Net_0/Linear_0": (5, 5)}
    assert house.rows("select count(*) from intermediate.int_module_span where module_index is not null") == [(3,)]
    assert house.rows("select start_ns, module_index from intermediate.int_module_forward order by start_ns") == [
        (0, 1), (100, 2), (120, 1), (170, 2), (200, 1), (1_000, None)
    ]  # fmt: skip


def test_functions_without_a_caller_in_the_trace_are_roots_and_circles_are_left_out():
    house = views(
        python("nn.Module: A_0", 0, 10, 7, 99),
        python("nn.Module: B_0", 20, 10, 8, 9),
        python("nn.Module: C_0", 20, 10, 9, 8),
        launched(5, 1),
        launched(25, 2),
    )
    assert house.pairs(SELF) == {"": (2, 2), "/A_0": (1, 1)}


def test_a_backward_kernel_belongs_to_the_module_of_its_forward_operator():
    # by the flow, or by the sequence number where no flow ends
    house = views(
        net(
            python("nn.Module: A_0", 100, 50, 3, 2),
            python("nn.Module: B_0", 200, 50, 4, 2),
            op("aten::mm", 110, 10, sequence_number=5),
            op("aten::mm", 210, 10, sequence_number=6),
        ),
        event("fwdbwd", "fwdbwd", 110, None, phase="s", flow_id="1"),
        event("fwdbwd", "fwdbwd", 2_010, None, phase="f", flow_id="1", tid="2"),
        op("engine: MmBackward0", 2_000, 90, tid=2, sequence_number=5, forward_thread=1),
        op("MmBackward0", 2_010, 50, tid=2, sequence_number=5, forward_thread=1),
        op("MmBackward0", 2_110, 50, tid=2, sequence_number=6, forward_thread=1),
        [launched(at, ns, tid=2) for at, ns in ((2_020, 1), (2_070, 2), (2_120, 4))],
    )
    assert house.pairs(SELF) == {
        "": (2, 2),  # in the engine's call, beside the operator that the flow ends at
        "[ BACKWARD ]/Net_0": (0, 5),
        "[ BACKWARD ]/Net_0/A_0": (1, 1),
        "[ BACKWARD ]/Net_0/B_0": (4, 4),
        "/Net_0": (0, 0),
        "/Net_0/A_0": (0, 0),
        "/Net_0/B_0": (0, 0),
    }
    assert house.pairs("select event_index, forward_start_ns from intermediate.int_backward_link") == {
        9: 110,
        10: 210,
    }
    assert house.pairs("select event_index, module_index from intermediate.int_module_backward") == {9: 2, 10: 3}


def test_a_module_that_runs_again_in_the_backward_pass_is_a_module_there():
    house = views(
        net(python("nn.Module: A_0", 100, 50, 3, 2), op("aten::mm", 110, 10, sequence_number=5)),
        op("CheckpointBackward", 2_000, 900, tid=2, sequence_number=5, forward_thread=1),
        python("nn.Module: A_0", 2_100, 100, 9, tid=2),
        launched(2_150, 1, tid=2),
        launched(2_300, 2, tid=2),
    )
    assert house.pairs(f"{SELF} and device_self_duration_ns > 0") == {
        "/A_0": (1, 1),
        "[ BACKWARD ]/Net_0/A_0": (2, 2),
    }


def test_the_outermost_call_of_the_optimizer_is_a_module_and_the_calls_of_a_module_are_counted_by_step():
    house = views(
        step(1, 0, 1_000),
        step(2, 1_000, 1_000),
        [python("nn.Module: A_0", at, 100, at, None) for at in (1, 200, 1_200)],
        annotation("Optimizer.step#SGD.step", 500, 100),
        annotation("Optimizer.step#inner", 510, 50),
        [launched(at, ns) for at, ns in ((50, 1), (250, 2), (1_250, 4), (520, 8), (700, 16))],
    )
    columns = "step, module_name, call_count, device_activity_count, device_self_duration_ns"
    assert house.rows(f"select {columns} from marts.module where step is not null order by all") == [
        (1, "", None, 1, 16),
        (1, "/A_0", 2, 2, 3),
        (1, "Optimizer.step#SGD.step", 1, 1, 8),
        (2, "/A_0", 1, 1, 4),
    ]
    assert house.rows(
        "select module_path, module_class, module_level, step from intermediate.int_module_call order by 1, 4"
    )[-1] == ("Optimizer.step#SGD.step", "Optimizer.step#SGD.step", 1, 1)


def test_a_trace_without_modules_has_no_rows_and_one_without_device_work_no_times():
    assert views(launched(5, 1)).rows(SELF) == []
    assert views(net()).rows(SELF) == [("/Net_0", None, None)]


def test_operators_of_a_module_are_its_outermost_ones_and_sum_to_its_self_time():
    # outer operator ├──────────────────┤   begins outside: of Net_0, inside which Linear_0 has operators of its own
    # Linear_0           ├───────┤
    # aten::mm             ├──┤
    house = views(
        net(
            op("aten::outer", 50, 300),
            python("nn.Module: Linear_0", 100, 100, 3, 2),
            op("aten::linear", 105, 50),
            op("aten::mm", 110, 30),
        ),
        [launched(at, ns) for at, ns in ((60, 1), (120, 2), (190, 4), (300, 8), (500, 16))],
    )
    rows = house.rows(
        "select module_name, operator_name, device_self_duration_ns, kernels from marts.module_operator"
        " where step is null order by 1, 2"
    )
    assert rows == [
        ("/Net_0", "(no operator)", 16, "1 × k: 16 ns"),
        ("/Net_0", "aten::outer", 9, "2 × k: 9 ns"),
        ("/Net_0/Linear_0", "(no operator)", 4, "1 × k: 4 ns"),
        ("/Net_0/Linear_0", "aten::linear", 2, "1 × k: 2 ns"),
    ]
    calls = "select operator_name, device_activity_count, self_activity_count from intermediate.int_operator_call"
    assert house.pairs(calls) == {"aten::outer": (4, 3), "aten::linear": (1, 0), "aten::mm": (1, 1)}
    assert house.rows("select count(*), sum(duration_ns)::bigint from intermediate.int_module_operator") == [(5, 31)]
    assert house.rows("select count(*) from intermediate.int_activity_module where module_index is not null") == [(5,)]


def test_the_call_stack_is_that_of_the_first_call():
    house = views(net(python("forward", 50, 500, 3, 2), python("nn.Module: A_0", 100, 10, 4, 3)), launched(105, 1))
    stack = house.one("select call_stack from marts.module where module_name = '/Net_0/A_0' and step is null")
    assert stack == ("train.py: main\nnn.Module: Net_0\nforward\nnn.Module: A_0",)
    assert house.rows("select count(*) from staging.stg_python_function where module_name is not null") == [(2,)]


def test_two_ends_and_a_start_at_one_moment():
    house = views(
        net(python("nn.Module: A_0", 100, 100, 3, 2), python("nn.Module: B_0", 150, 50, 4, 3)),
        python("nn.Module: C_0", 200, 10, 5, 2),
        python("nn.Module: D_0", 200, 0, 6, 2),
        launched(200, 1),
        launched(210, 2),
    )
    assert house.pairs(f"{SELF} and device_self_duration_ns > 0") == {"/Net_0": (2, 3), "/Net_0/C_0": (1, 1)}
    assert house.rows("select count(*) from intermediate.int_module_segment where start_ns = 200") == [(1,)]


#   1   [ main                                                     0..100 ]
#       [ Net_0              0..60  ][ Loss_0 60..80 ]
#       [ Linear_0 0..20 ][ f 20..50 [ Linear_1 30..50 ]]
#   2      [ Other_0 5..90 ]
def test_functions_without_numbers_are_nested_by_time_within_their_thread():
    def call(name, start, end, tid=1):
        return python(name, start, end - start, None, tid=tid)

    house = views(
        call("nn.Module: Loss_0", 60, 80),
        call("nn.Module: Linear_1", 30, 50),
        call("f", 20, 50),
        call("nn.Module: Linear_0", 0, 20),
        call("nn.Module: Net_0", 0, 60),
        call("main", 0, 100),
        call("nn.Module: Other_0", 5, 90, tid=2),
        call("nothing", 40, 40),
    )
    callers = """
        select call.function_name, caller.function_name from intermediate.int_python_function as call
        left join intermediate.int_python_function as caller on call.python_parent_id = caller.python_id"""
    assert house.pairs(callers) == {
        "main": None,
        "nn.Module: Net_0": "main",
        "nn.Module: Linear_0": "nn.Module: Net_0",
        "f": "nn.Module: Net_0",
        "nn.Module: Linear_1": "f",
        "nn.Module: Loss_0": "main",
        "nn.Module: Other_0": None,
        "nothing": None,
    }
    paths = "select module_path from intermediate.int_module_call order by all"
    assert house.rows(paths) == [("/Loss_0",), ("/Net_0",), ("/Net_0/Linear_0",), ("/Net_0/Linear_1",), ("/Other_0",)]
