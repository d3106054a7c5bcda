"""Device time by nn.Module: int_module_*, int_backward_link, int_activity_module, module, module_operator."""

from __future__ import annotations

import pytest

from tests.support.events import annotation, event, kernel, launch, op, python, step
from tests.support.views import views

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
    modules = "select event_index, module_index, parent_module_index from intermediate.int_call_walk order by 1"
    assert house.rows(modules) == [(1, 1, None), (2, 2, 1), (4, 2, None), (6, 1, None), (8, 2, None)]


def test_functions_without_a_caller_that_has_started_are_roots():
    house = views(
        python("nn.Module: A_0", 0, 10, 7, 99),
        python("nn.Module: B_0", 20, 10, 8, 9),
        python("nn.Module: C_0", 20, 10, 9, 8),
        launched(5, 1),
        launched(25, 2),
    )
    assert house.pairs(SELF) == {"/A_0": (1, 1), "/B_0": (0, 2), "/B_0/C_0": (2, 2)}


def test_a_caller_may_be_on_another_thread_or_have_ended_at_that_moment():
    # thread 1   main     ├──────────────────────────────────┤
    # thread 1   A_0         ├─────────────┤
    # thread 2   hook              ├────┤         called from A_0
    # thread 2   B_0                 ├─┤
    # thread 1   C_0                       ├────┤ called from A_0, which ends there
    house = views(
        python("main", 0, 100, 1),
        python("nn.Module: A_0", 10, 40, 2, 1),
        python("hook", 20, 20, 3, 2, tid=2),
        python("nn.Module: B_0", 25, 5, 4, 3, tid=2),
        python("nn.Module: C_0", 50, 20, 5, 2),
        [launched(at, 1, tid=2) for at in (22, 27, 41)],
        launched(60, 1),
    )
    assert house.pairs(SELF) == {"": (1, 1), "/A_0": (1, 3), "/A_0/B_0": (1, 1), "/A_0/C_0": (1, 1)}
    stacks = "select call_stack from intermediate.int_module_stack where first_index = 3"
    assert house.rows(stacks) == [("main\nnn.Module: A_0\nhook\nnn.Module: B_0",)]


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
    assert house.pairs("select event_index, forward_index from intermediate.int_backward_link") == {9: 6, 10: 5}
    columns = "event_index, module_index, backward_module_index, is_module_backward"
    passes = f"select {columns} from intermediate.int_operator_walk where event_index > 7 order by 1"
    assert house.rows(passes) == [
        (8, None, None, False),
        (9, 2, 2, True),
        (10, 3, 3, True),
    ]


@pytest.mark.parametrize("has_flow", [True, False])
def test_a_backward_operator_that_starts_with_its_forward_one_is_behind_it(has_flow):
    # Times may be rounded to the microsecond.
    flow = [
        event("fwdbwd", "fwdbwd", 110, None, phase="s", flow_id="1"),
        event("fwdbwd", "fwdbwd", 110, None, phase="f", flow_id="1", tid="2"),
    ]
    house = views(
        net(python("nn.Module: A_0", 100, 50, 3, 2), op("aten::mm", 110, 10, sequence_number=5)),
        flow if has_flow else [],
        op("MmBackward0", 110, 50, tid=2, sequence_number=5, forward_thread=1),
        launched(120, 1, tid=2),
    )
    assert house.pairs(f"{SELF} and device_self_duration_ns > 0") == {"[ BACKWARD ]/Net_0/A_0": (1, 1)}


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


def test_a_call_after_the_end_of_a_step_is_of_none():
    # steps   ├── 1 ──┤   ├── 2 ──┤
    #         0      100 150      250
    starts = {0: 1, 99: 1, 100: None, 149: None, 150: 2, 249: 2, 250: None}
    house = views(
        step(1, 0, 100),
        step(2, 150, 100),
        [python("nn.Module: Linear_0", at, 1, place + 1) for place, at in enumerate(starts)],
    )
    assert house.pairs("select start_ns, step from intermediate.int_module_call") == starts
    assert house.pairs("select step, call_count from marts.module where module_name = '/Linear_0'") == {
        None: 7,
        1: 2,
        2: 2,
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
        "select module_path, module_class, module_level, step from intermediate.int_module_call"
        " join intermediate.int_module using (run_id, module) order by 1, 4"
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


def test_the_outermost_operator_of_a_module_call_has_no_other_of_that_call_around():
    # Net_0           ├────────────────────────────┤
    # 1 aten::outer     ├──────────────────────┤        of Net_0
    # 2 aten::inside    ├──┤                            starts with it
    # Linear_0                 ├────────────┤
    # 4 aten::linear             ├──────┤               of Linear_0
    # 5 aten::mm                 ├───┤                  starts with it
    house = views(
        python("nn.Module: Net_0", 100, 200, 1),
        op("aten::outer", 110, 150),
        op("aten::inside", 110, 20),
        python("nn.Module: Linear_0", 150, 80, 2, 1),
        op("aten::linear", 160, 30),
        op("aten::mm", 160, 20),
    )
    assert house.pairs("select event_index, outermost_index from intermediate.int_operator_call") == {
        1: 1,
        2: 1,
        4: 4,
        5: 4,
    }


def test_the_call_stack_is_that_of_the_first_call():
    house = views(net(python("forward", 50, 500, 3, 2), python("nn.Module: A_0", 100, 10, 4, 3)), launched(105, 1))
    stack = house.one("select call_stack from marts.module where module_name = '/Net_0/A_0' and step is null")
    assert stack == ("train.py: main\nnn.Module: Net_0\nforward\nnn.Module: A_0",)
    assert house.rows("select count(*) from staging.stg_python_function where module_name is not null") == [(2,)]


def test_the_call_stack_of_a_module_that_is_called_twice_is_that_of_the_call_that_starts_first():
    def called(name, at, number):
        return [python(name, at, 50, number), python("nn.Module: A_0", at + 10, 20, number + 1, number)]

    house = views(called("later", 200, 1), called("first", 100, 3))
    stacks = "select call_stack, first_start_ns from marts.module where module_name = '/A_0' and step is null"
    assert house.one(stacks) == ("first\nnn.Module: A_0", 110)


def test_a_call_stack_is_whole_up_to_200_callers():
    callers = [python(f"f{depth}", depth, 1_000 - 2 * depth, depth + 1, depth or None) for depth in range(230)]
    house = views(callers, python("nn.Module: A_0", 400, 5, 900, 230))
    (stack,) = house.one("select call_stack from marts.module where module_name = '/A_0' and step is null")
    assert stack.split("\n") == [*(f"f{depth}" for depth in range(30, 230)), "nn.Module: A_0"]


def test_two_ends_and_a_start_at_one_moment():
    house = views(
        net(python("nn.Module: A_0", 100, 100, 3, 2), python("nn.Module: B_0", 150, 50, 4, 3)),
        python("nn.Module: C_0", 200, 10, 5, 2),
        python("nn.Module: D_0", 200, 0, 6, 2),
        launched(200, 1),
        launched(210, 2),
    )
    assert house.pairs(f"{SELF} and device_self_duration_ns > 0") == {"/Net_0": (2, 3), "/Net_0/C_0": (1, 1)}


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
    stacks = "select call_stack from intermediate.int_module_stack order by all"
    assert [stack.replace("nn.Module: ", "").split("\n") for (stack,) in house.rows(stacks)] == [
        ["main", "Loss_0"],
        ["main", "Net_0"],
        ["main", "Net_0", "f", "Linear_1"],
        ["main", "Net_0", "Linear_0"],
        ["Other_0"],
    ]
    paths = "select module_path from intermediate.int_module order by all"
    assert house.rows(paths) == [("/Loss_0",), ("/Net_0",), ("/Net_0/Linear_0",), ("/Net_0/Linear_1",), ("/Other_0",)]


# -- shapes of training and of inference --------------------------------------------------------------------


def module(name, start, end, number, caller=None, tid=1):
    """A call of an nn.Module."""
    return python(f"nn.Module: {name}", start, end - start, number, caller, tid=tid)


def backward(name, start, end, sequence, forward_thread=1, tid=2):
    """A node of the graph, which autograd evaluates on a thread of its own."""
    known = {"tid": tid, "sequence_number": sequence, "forward_thread": forward_thread}
    return [
        op(f"autograd::engine::evaluate_function: {name}", start - 1, end - start + 2, **known),
        op(name, start, end - start, **known),
    ]


def flow(number, start, end, tid=1, to=2):
    """The arrow from a forward operator to its backward."""
    return [
        event("fwdbwd", "fwdbwd", start, None, phase="s", flow_id=str(number), tid=tid),
        event("fwdbwd", "fwdbwd", end, None, phase="f", flow_id=str(number), tid=to),
    ]


def self_times(house):
    """Device time by module where there is some; it adds up to that of the run and of each of its steps."""
    sums = "select step, sum({})::bigint from {} group by step"
    by_step = house.pairs(sums.format("device_self_duration_ns", "marts.module"))
    known = house.pairs(
        sums.format("duration_ns", "intermediate.int_device_activity where quarantine_reason is null and step >= 0")
    )
    assert {step: ns for step, ns in by_step.items() if step is not None and ns} == known
    assert (by_step[None],) == house.one("select sum(duration_ns)::bigint from intermediate.int_device_activity")
    return {name: own for name, own, _ in house.rows(f"{SELF} and device_self_duration_ns > 0")}


@pytest.mark.parametrize("has_flows", [True, False])
def test_replicas_of_data_parallel_are_modules_of_their_own_threads_and_devices(has_flows):
    # 1   DataParallel_0 ├─────────────────────────────────┤    scatters and gathers
    # 11      Net_0 ├─────┤  on device 0      21   backward     of thread 11, which autograd knows as 2
    # 12      Net_1 ├─────┤  on device 1      22   backward     of thread 12, which autograd knows as 3
    # Each thread counts its sequence numbers from 0.
    forward = [
        (python("parallel_apply.py: _worker", 100, 300, 10 * tid, tid=tid), *replica)
        for tid, replica in (
            (11, (module("Net_0", 110, 390, 111, 110, 11), module("Linear_0", 200, 300, 112, 111, 11))),
            (12, (module("Net_1", 110, 390, 121, 120, 12), module("Linear_1", 200, 300, 122, 121, 12))),
        )
    ]
    house = views(
        step(1, 0, 5_000),
        module("DataParallel_0", 0, 1_000, 1),
        op("Scatter", 10, 20, sequence_number=0),
        op("Gather", 500, 20, sequence_number=1),
        *map(list, forward),
        [op("aten::addmm", 210, 50, tid=tid, sequence_number=1) for tid in (11, 12)],
        backward("GatherBackward", 1_500, 1_600, 1, forward_thread=1, tid=21),
        backward("AddmmBackward0", 2_000, 2_100, 1, forward_thread=2, tid=21),
        backward("AddmmBackward0", 2_010, 2_110, 1, forward_thread=3, tid=22),
        [flow(1, 500, 1_500, 1, 21), flow(2, 210, 2_000, 11, 21), flow(3, 210, 2_010, 12, 22)] if has_flows else [],
        launched(15, 1),
        launched(510, 2),
        launched(220, 4, 11),
        launched(221, 8, 12, device=1),
        launched(1_510, 16, 21),
        launched(2_020, 32, 21),
        launched(2_021, 64, 22, device=1),
        launched(3_000, 128),
    )
    assert self_times(house) == {
        "": 128,
        "/DataParallel_0": 3,
        "/Net_0/Linear_0": 4,
        "/Net_1/Linear_1": 8,
        "[ BACKWARD ]/DataParallel_0": 16,
        "[ BACKWARD ]/Net_0/Linear_0": 32,
        "[ BACKWARD ]/Net_1/Linear_1": 64,
    }


def test_a_number_of_a_forward_thread_is_told_by_flows_then_names_then_the_order_of_threads():
    # Threads 11 and 12 run the first step, 21 and 22 the second; all count their sequence numbers from 0.
    def numbers(first, *names, at, tid):
        return [op(name, at + 10 * n, 5, tid=tid, sequence_number=first + n) for n, name in enumerate(names)]

    house = views(
        numbers(0, "aten::t", "aten::add_", "aten::mul", "aten::native_batch_norm", at=0, tid=1),
        [numbers(0, "aten::mm", "aten::relu", at=100 + tid, tid=tid) for tid in (11, 12)],
        [backward("MmBackward0", 500 + number, 550, 0, number, tid=50 + number) for number in (2, 3)],
        [numbers(0, "aten::mm", "aten::relu", at=1_000 + tid, tid=tid) for tid in (21, 22)],
        [backward("ReluBackward0", 1_500 + number, 1_550, 1, number, tid=50 + number) for number in (6, 7)],
        backward("NativeBatchNormBackward0", 1_600, 1_650, 3, 1),
        backward("AddBackward0", 1_700, 1_750, 1, 9),
        backward("MulBackward0", 1_800, 1_850, 2, 9),
        flow(1, 10, 1_700),
    )
    assert house.pairs("select forward_thread, tid from intermediate.int_forward_thread") == {
        1: "1", 2: "11", 3: "12", 6: "21", 7: "22", 9: "1"
    }  # fmt: skip
    assert house.rows("select forward_pid, forward_tid from intermediate.int_backward_flow") == [("4242", "1")]
    names = "select distinct function_name from intermediate.int_sequence_number where sequence_number in (1, 3)"
    assert {name for (name,) in house.rows(names)} == {"add", "relu", "nativebatchnorm"}


def test_gradients_that_hooks_reduce_belong_to_no_module_and_buffers_to_the_wrapper():
    name = "torch::autograd::AccumulateGrad"
    house = views(
        step(1, 0, 5_000),
        annotation("DistributedDataParallel.forward", 5, 900),
        module("DistributedDataParallel_0", 0, 1_000, 1),
        module("Net_0", 100, 900, 2, 1),
        module("Linear_0", 200, 300, 3, 2),
        op("_DDPSink", 950, 20, sequence_number=7),
        op("aten::addmm", 210, 50, sequence_number=6),
        op("aten::no_grad", 220, 5, sequence_number=-1),
        backward("_DDPSinkBackward", 2_000, 2_050, 7),
        backward("AddmmBackward0", 2_100, 2_200, 6),
        backward(name, 2_300, 2_400, -1),
        annotation("nccl:all_reduce", 2_350, 20, tid=2),
        launched(10, 1),
        launched(230, 2),
        launched(2_010, 4, 2),
        launched(2_110, 8, 2),
        launched(2_360, 16, 2),
    )
    assert self_times(house) == {
        "": 16,
        "/DistributedDataParallel_0": 1,
        "/DistributedDataParallel_0/Net_0/Linear_0": 2,
        "[ BACKWARD ]/DistributedDataParallel_0": 4,
        "[ BACKWARD ]/DistributedDataParallel_0/Net_0/Linear_0": 8,
    }


def test_shards_gathered_before_a_module_runs_are_the_wrapper_s_own_time():
    house = views(
        step(1, 0, 5_000),
        annotation("FullyShardedDataParallel.forward", 1, 990),
        module("FullyShardedDataParallel_0", 0, 1_000, 1),
        annotation("FullyShardedDataParallel._pre_forward", 5, 50),
        module("Net_0", 100, 900, 2, 1),
        module("FullyShardedDataParallel_1", 200, 500, 3, 2),
        module("Linear_0", 300, 400, 4, 3),
        op("aten::addmm", 310, 50, sequence_number=6),
        backward("AddmmBackward0", 2_100, 2_200, 6),
        annotation("FullyShardedDataParallel._post_backward_hook", 2_300, 50, tid=2),
        launched(10, 1),
        launched(210, 2),
        launched(320, 4),
        launched(2_110, 8, 2),
        launched(2_310, 16, 2),
    )
    assert self_times(house) == {
        "": 16,
        "/FullyShardedDataParallel_0": 1,
        "/FullyShardedDataParallel_0/Net_0/FullyShardedDataParallel_1": 2,
        "/FullyShardedDataParallel_0/Net_0/FullyShardedDataParallel_1/Linear_0": 4,
        "[ BACKWARD ]/FullyShardedDataParallel_0/Net_0/FullyShardedDataParallel_1/Linear_0": 8,
    }


def test_hooks_of_sharded_modules_without_wrappers_belong_to_them_forward_and_backward():
    # The hook before forward puts a node into the graph, whose backward reduces the gradients after the module's.
    house = views(
        step(1, 0, 5_000),
        module("FSDPQwen2ForCausalLM_0", 0, 1_000, 1),
        module("FSDPQwen2DecoderLayer_0", 100, 900, 2, 1),
        annotation("FSDP::pre_forward (model.layers.0)", 105, 90),
        annotation("FSDP::all_gather", 110, 20),
        op("RegisterPostBackwardFunction", 150, 20, sequence_number=5),
        op("aten::addmm", 310, 50, sequence_number=6),
        annotation("FSDP::pre_backward (model.layers.0)", 2_000, 40, tid=2),
        backward("AddmmBackward0", 2_100, 2_200, 6),
        backward("RegisterPostBackwardFunctionBackward", 2_300, 2_400, 5),
        annotation("FSDP::post_backward_reduce (model.layers.0)", 2_310, 50, tid=2),
        [flow(1, 150, 2_300), flow(2, 310, 2_100)],
        launched(115, 1),
        launched(320, 2),
        launched(2_010, 4, 2),
        launched(2_110, 8, 2),
        launched(2_320, 16, 2),
    )
    assert self_times(house) == {
        "": 4,
        "/FSDPQwen2ForCausalLM_0/FSDPQwen2DecoderLayer_0": 3,
        "[ BACKWARD ]/FSDPQwen2ForCausalLM_0/FSDPQwen2DecoderLayer_0": 24,
    }


@pytest.mark.parametrize("has_flows", [True, False])
def test_a_compiled_region_belongs_to_the_module_that_calls_it_and_so_does_its_backward(has_flows):
    graph = "## Call CompiledFxGraph fal4xpiah2v6 ##"
    house = views(
        step(1, 0, 5_000),
        module("OptimizedModule_0", 0, 1_000, 1),
        module("Net_0", 50, 900, 2, 1),
        python("torch/_dynamo/eval_frame.py: _fn", 60, 800, 3, 2),
        op("Torch-Compiled Region: 0/0", 100, 300, sequence_number=5),
        op("CompiledFunction", 110, 200, sequence_number=5),
        annotation(graph, 120, 100),
        op("triton_poi_fused_add_0", 130, 20),
        op("Torch-Compiled Region: 0/1", 950, 20, sequence_number=6),
        op("CompiledFunction", 955, 10, sequence_number=6),
        backward("CompiledFunctionBackward", 2_000, 2_200, 6),
        python("runtime_wrappers.py: backward", 2_210, 300, 9, tid=2),
        backward("CompiledFunctionBackward", 2_300, 2_500, 5),
        annotation(graph, 2_310, 100, tid=2),
        [flow(1, 110, 2_300), flow(2, 955, 2_000)] if has_flows else [],
        launched(140, 1),
        launched(960, 2),
        launched(2_100, 4, 2),
        launched(2_320, 8, 2),
    )
    assert self_times(house) == {
        "/OptimizedModule_0": 2,
        "/OptimizedModule_0/Net_0": 1,
        "[ BACKWARD ]/OptimizedModule_0": 4,
        "[ BACKWARD ]/OptimizedModule_0/Net_0": 8,
    }


@pytest.mark.parametrize("call", ["cudaGraphLaunch", "hipGraphLaunch"])
def test_all_kernels_of_a_graph_belong_to_the_module_around_its_launch(call):
    def replay(at, durations, tid=1):
        return [
            launch(call, at, 5, correlation=at, tid=tid),
            [kernel("k", 10_000 + at + 50 * place, ns, correlation=at) for place, ns in enumerate(durations)],
        ]

    house = views(
        step(1, 0, 5_000),
        module("Net_0", 0, 1_000, 1),
        module("Layer_0", 100, 200, 2, 1),
        op("aten::mm", 310, 20, sequence_number=5),
        backward("CompiledFunctionBackward", 2_000, 2_200, 5),
        replay(150, [1, 2]),
        replay(500, [4]),
        replay(1_500, [8, 16]),
        replay(2_010, [32], tid=2),
    )
    assert self_times(house) == {
        "": 24,
        "/Net_0": 4,
        "/Net_0/Layer_0": 3,
        "[ BACKWARD ]/Net_0": 32,
    }
    operators = "select distinct operator_name from marts.module_operator where module_name not like '[%'"
    assert house.rows(operators) == [("(graph launch)",)]


def test_without_a_backward_pass_a_shared_module_is_one_row_for_each_place_that_calls_it():
    house = views(
        step(1, 0, 1_000),
        module("Net_0", 0, 900, 1),
        module("Embedding_0", 100, 200, 2, 1),
        module("Head_0", 300, 600, 3, 1),
        module("Embedding_0", 400, 500, 4, 3),
        module("Embedding_0", 700, 800, 5, 1),
        [op("aten::embedding", at, 20) for at in (110, 410, 710)],
        [launched(at, ns) for at, ns in ((120, 1), (420, 2), (720, 4))],
    )
    assert self_times(house) == {"/Net_0/Embedding_0": 5, "/Net_0/Head_0/Embedding_0": 2}
    calls = house.pairs("select module_name, call_count from marts.module where step = 1")
    assert calls == {"/Net_0": 1, "/Net_0/Embedding_0": 2, "/Net_0/Head_0": 1, "/Net_0/Head_0/Embedding_0": 1}


@pytest.mark.parametrize("has_flows", [True, False])
def test_a_block_that_runs_again_has_a_backward_pass_of_its_own(has_flows):
    # The thread of autograd counts its sequence numbers from 0 too; there it is thread 2, the main thread is 1.
    house = views(
        step(1, 0, 5_000),
        module("Net_0", 0, 1_000, 1),
        module("Head_0", 100, 200, 2, 1),
        module("Block_0", 300, 500, 3, 1),
        op("aten::mm", 110, 10, sequence_number=0),
        op("CheckpointFunction", 290, 220, sequence_number=1),
        op("aten::mm", 310, 10),
        backward("CheckpointFunctionBackward", 2_000, 3_000, 1),
        module("Block_0", 2_100, 2_300, 9, tid=2),
        op("aten::mm", 2_110, 10, tid=2, sequence_number=0),
        backward("MmBackward0", 2_500, 2_600, 0, forward_thread=2),
        backward("MmBackward0", 3_100, 3_200, 0, forward_thread=1),
        [flow(1, 290, 2_000), flow(2, 110, 3_100), flow(3, 2_110, 2_500, tid=2)] if has_flows else [],
        [launched(at, ns) for at, ns in ((120, 1), (320, 2))],
        [launched(at, ns, 2) for at, ns in ((2_120, 4), (2_510, 8), (2_700, 16), (3_110, 32))],
    )
    assert self_times(house) == {
        "/Net_0/Head_0": 1,
        "/Net_0/Block_0": 2,
        "/Block_0": 4,
        "[ BACKWARD ]/Block_0": 8,
        "[ BACKWARD ]/Net_0": 16,
        "[ BACKWARD ]/Net_0/Head_0": 32,
    }


def test_a_module_has_the_path_and_the_stack_of_its_first_call():
    house = views(
        net(
            python("nn.Module: Linear_0", 200, 50, 3, 2),
            python("block", 100, 80, 4, 2),
            python("nn.Module: Linear_0", 110, 50, 5, 4),
        )
    )
    paths = "select module_path, parent_path, module_class, module_level from intermediate.int_module order by 1"
    assert house.rows(paths) == [("/Net_0", None, "Net", 1), ("/Net_0/Linear_0", "/Net_0", "Linear", 2)]
    first = "select module_path, first_start_ns, first_index from intermediate.int_module order by 1"
    assert house.rows(first) == [("/Net_0", 0, 1), ("/Net_0/Linear_0", 110, 4)]
    times = "select module_name, first_index, call_count, host_duration_ns from intermediate.int_module_time order by 1"
    assert house.rows(times) == [("/Net_0", 1, 1, 1_000), ("/Net_0/Linear_0", 4, 2, 100)]
    stacks = "select first_index, call_stack from intermediate.int_module_stack order by 1"
    linear = "train.py: main\nnn.Module: Net_0\nblock\nnn.Module: Linear_0"
    assert house.rows(stacks) == [(1, "train.py: main\nnn.Module: Net_0"), (4, linear)]
