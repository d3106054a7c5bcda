"""Modules side by side and comparisons call by call.

module_comparison, module_detail_comparison, operator_detail_comparison, memory_detail_comparison
"""

from __future__ import annotations

import contextlib
import json

import pytest

from tests.support.events import annotation, kernel, launch, memory, op, python, step
from tests.support.views import views

SCOPE = "base_run_id = 'a' and comparison_run_id = 'b' and base_step is null and comparison_step is null"


def layers(*names, slower=()):
    """A module Net_0 with layers in a row, each an operator and a kernel of 10 ns, 30 where it is slower."""
    events = [python("nn.Module: Net_0", 0, 100 * len(names) + 100, 1)]
    seen = {}
    for number, name in enumerate(names):
        at = 100 * number + 10
        seen[name] = seen.get(name, -1) + 1
        events += [
            python(f"nn.Module: {name}_{seen[name]}", at, 80, 10 + number, 1),
            op(f"aten::{name.lower()}", at + 10, 50, input_shapes=f"[[{number}]]", input_types='["float"]'),
            launch("x", at + 20, 1, correlation=number + 1),
            kernel(name.lower(), 10_000 + at, 30 if number in slower else 10, correlation=number + 1),
        ]
    return events


def modules(house):
    return house.rows(
        "select base_module_name, comparison_module_name, diff_device_self_duration_ns from marts.module_comparison"
        f" where {SCOPE} and operator_name = '[ TOTAL ]' order by row_order"
    )


@contextlib.contextmanager
def variable(house, name, value):
    house.connection.execute(f"set variable {name} = $value", {"value": value})
    try:
        yield
    finally:
        house.connection.execute(f"reset variable {name}")


def test_an_inserted_layer_is_alone_and_all_others_pair():
    house = views(a=layers("Norm", "Linear", "Linear"), b=layers("Norm", "Relu", "Linear", "Linear", slower=[3]))
    assert modules(house) == [
        ("/Net_0", "/Net_0", 0),
        ("/Net_0/Norm_0", "/Net_0/Norm_0", 0),
        (None, "/Net_0/Relu_0", 10),
        ("/Net_0/Linear_0", "/Net_0/Linear_0", 0),
        ("/Net_0/Linear_1", "/Net_0/Linear_1", 20),
    ]


def test_a_deleted_layer_is_alone_though_the_numbers_of_the_others_change():
    house = views(a=layers("Linear", "Norm", "Linear", "Relu", "Linear"), b=layers("Norm", "Linear", "Relu", "Linear"))
    assert [row[:2] for row in modules(house)] == [
        ("/Net_0", "/Net_0"),
        ("/Net_0/Linear_0", None),
        ("/Net_0/Norm_0", "/Net_0/Norm_0"),
        ("/Net_0/Linear_1", "/Net_0/Linear_0"),
        ("/Net_0/Relu_0", "/Net_0/Relu_0"),
        ("/Net_0/Linear_2", "/Net_0/Linear_1"),
    ]


def test_a_renamed_layer_is_alone_on_both_sides_unless_the_map_names_it():
    runs = {"a": layers("Norm", "Relu", "Linear"), "b": layers("Norm", "Gelu", "Linear")}
    alone = [row[:2] for row in modules(views(**runs)) if None in row[:2]]
    assert alone == [("/Net_0/Relu_0", None), (None, "/Net_0/Gelu_0")]
    house = views(**runs)
    with variable(house, "op_name_map", json.dumps({"Relu": "Gelu", "aten::relu": "aten::gelu"})):
        assert [row[:2] for row in modules(house) if None in row[:2]] == []
        operators = (
            f"select operator_name from marts.module_comparison where {SCOPE} and base_module_name = '/Net_0/Relu_0'"
        )
        assert house.rows(f"{operators} order by row_order") == [("[ TOTAL ]",), ("aten::gelu",)]


def test_modules_are_a_tree_of_own_names_by_level_and_operators_are_none():
    backward = [
        op("aten::norm", 20, 5, sequence_number=5),
        op("NormBackward0", 2_000, 50, tid=2, sequence_number=5, forward_thread=1),
        launch("x", 2_010, 1, correlation=90, tid=2),
        kernel("norm_backward", 12_000, 7, correlation=90),
        launch("x", 3_000, 1, correlation=91),
        kernel("alone", 13_000, 5, correlation=91),
    ]
    house = views(a=[*layers("Linear", "Norm"), *backward], b=[*layers("Linear", "Linear", "Norm"), *backward])
    rows = house.rows(
        "select module_level, own_name, operator_name, base_device_total_duration_ns,"
        " comparison_device_total_duration_ns"
        f" from marts.module_comparison where {SCOPE} order by row_order"
    )
    assert [row for row in rows if (row[1] is None) == (row[2] == "[ TOTAL ]")] == []
    assert [(level, name, *totals) for level, name, _, *totals in rows if name] == [
        (1, "Net_0", 20, 30),
        (2, "Linear_0", 10, 10),
        (2, "Linear_1", None, 10),
        (2, "Norm_0", 10, 10),
        (1, "[ BACKWARD ]/Net_0", 7, 7),
        (2, "Linear_0", 7, 7),
        (0, "(outside any module)", 5, 5),
    ]
    names = f"select own_name from marts.module_comparison where {SCOPE} and own_name like '%→%'"
    other = views(a=layers("Linear", "Norm", "Linear"), b=layers("Norm", "Linear"))
    assert other.rows(names) == [("Linear_1 → Linear_0",)]


def test_of_a_module_the_total_comes_first_and_what_is_outside_of_all_comes_last():
    # The name of an operator may come before the name of the total; work outside may start before all modules.
    def run(name):
        return [
            launch("x", 1, 1, correlation=80),
            kernel("before", 500, 3, correlation=80),
            python(name, 5, 200, 1),
            python("nn.Module: Net_0", 10, 100, 2, 1),
            op("Add", 20, 50),
            launch("x", 30, 1, correlation=81),
            kernel("add", 600, 10, correlation=81),
        ]

    house = views(a=run("base.py"), b=run("new.py"))
    assert house.rows(
        "select module_name, operator_name, base_call_stack, comparison_call_stack from marts.module_comparison"
        f" where {SCOPE} order by row_order"
    ) == [
        ("/Net_0", "[ TOTAL ]", "base.py\nnn.Module: Net_0", "new.py\nnn.Module: Net_0"),
        ("/Net_0", "Add", None, None),
        ("(outside any module)", "[ TOTAL ]", None, None),
        ("(outside any module)", "(no operator)", None, None),
    ]
    places = "select forward_name, place from marts.module_sequence where run_id = 'a' and step is null"
    assert house.pairs(places) == {"/Net_0": 1, "": 2}


def wrapped(*paths):
    """Modules at these paths, each called once, with an operator of its own that starts a kernel of 1, 2, 4, … ns."""
    names = {path: number for number, path in enumerate(paths, 1)}
    events = []
    for path, number in names.items():
        inside = sum(other.startswith(path) for other in paths)
        around, _, name = path.rpartition("/")
        at, kind = 100 * number, name.rpartition("_")[0].removeprefix("FSDP")
        events += [
            python(f"nn.Module: {name}", at, 100 * inside, number, names.get(around)),
            op("aten::copy_" if "Parallel" in kind else f"aten::{kind.lower()}", at + 10, 50),
            launch("x", at + 20, 1, correlation=number),
            kernel("k", 10_000 + at, 1 << number - 1, correlation=number),
        ]
    return events


@pytest.mark.parametrize("wrapper", ["DataParallel", "DistributedDataParallel", "OptimizedModule"])
def test_a_wrapper_that_one_side_lacks_is_alone_and_what_it_wraps_pairs(wrapper):
    bare = wrapped("/Net_0", "/Net_0/Linear_0", "/Net_0/Relu_0")
    around = f"/{wrapper}_0"
    house = views(a=bare, b=wrapped(around, f"{around}/Net_0", f"{around}/Net_0/Linear_0", f"{around}/Net_0/Relu_0"))
    columns = "module_level, base_module_name, comparison_module_name, diff_device_total_duration_ns"
    there = f"select {columns} from marts.module_comparison where {SCOPE} and operator_name = '[ TOTAL ]'"
    assert house.rows(f"{there} order by row_order") == [
        (1, None, around, 1 + 2 + 4 + 8),
        (2, "/Net_0", f"{around}/Net_0", 7),
        (3, "/Net_0/Linear_0", f"{around}/Net_0/Linear_0", 2),
        (3, "/Net_0/Relu_0", f"{around}/Net_0/Relu_0", 4),
    ]
    back = there.replace(
        "base_run_id = 'a' and comparison_run_id = 'b'", "base_run_id = 'b' and comparison_run_id = 'a'"
    )
    assert [row[:3] for row in house.rows(f"{back} order by row_order")][:2] == [
        (1, around, None),
        (2, f"{around}/Net_0", "/Net_0"),
    ]
    classes = "select module_class, paired_class, is_wrapper from intermediate.int_module_class where run_id = 'b'"
    assert house.pairs(classes)[wrapper] == (wrapper, True)


def test_wrappers_inside_modules_are_looked_through_call_by_call_too():
    sharded = wrapped(
        outer := "/FullyShardedDataParallel_0",
        net := f"{outer}/Net_0",
        first := f"{net}/FullyShardedDataParallel_1",
        f"{first}/Linear_0",
        second := f"{net}/FullyShardedDataParallel_2",
        f"{second}/Linear_1",
    )
    house = views(a=wrapped("/Net_0", "/Net_0/Linear_0", "/Net_0/Linear_1"), b=sharded)
    pairs = [
        (None, outer),
        ("/Net_0", net),
        (None, first),
        ("/Net_0/Linear_0", f"{first}/Linear_0"),
        (None, second),
        ("/Net_0/Linear_1", f"{second}/Linear_1"),
    ]
    assert [row[:2] for row in modules(house)] == pairs
    detail = (
        "select base_module_name, comparison_module_name, module_level, base_operator_name, comparison_operator_name"
        f" from marts.module_detail_comparison where {SCOPE}"
    )
    rows = house.rows(f"{detail} order by row_order")
    assert [row[:3] for row in rows if "[ TOTAL ]" in row[3:]] == [
        (*pair, level) for pair, level in zip(pairs, (1, 2, 3, 4, 3, 4), strict=True)
    ]
    assert {row[2:] for row in rows if "[ TOTAL ]" not in row[3:]} == {
        (1, None, "aten::copy_"),
        (2, "aten::net", "aten::net"),
        (3, None, "aten::copy_"),
        (4, "aten::linear", "aten::linear"),
    }


def test_modules_that_are_sharded_in_place_pair_with_those_that_are_not():
    house = views(
        a=wrapped("/Net_0", "/Net_0/Linear_0"),
        b=wrapped("/FSDPNet_0", "/FSDPNet_0/FSDPLinear_0"),
        c=wrapped("/OptimizedModule_0", "/OptimizedModule_0/FullyShardedDataParallel_0"),
        d=wrapped("/FullyShardedDataParallel_0"),
    )
    assert [row[:2] for row in modules(house)] == [
        ("/Net_0", "/FSDPNet_0"),
        ("/Net_0/Linear_0", "/FSDPNet_0/FSDPLinear_0"),
    ]
    other = "base_run_id = 'c' and comparison_run_id = 'd' and operator_name = '[ TOTAL ]'"
    rows = f"select base_module_name, comparison_module_name from marts.module_comparison where {other}"
    assert house.rows(f"{rows} and base_step is null and comparison_step is null order by row_order") == [
        ("/OptimizedModule_0", None),
        ("/OptimizedModule_0/FullyShardedDataParallel_0", "/FullyShardedDataParallel_0"),
    ]


def test_calls_of_modules_and_their_operators_pair_one_by_one():
    house = views(a=layers("Norm", "Linear"), b=layers("Norm", "Relu", "Linear", slower=[2]))
    rows = house.rows(
        "select base_module_name, comparison_module_name, coalesce(base_operator_name, comparison_operator_name),"
        " comparison_kernels, diff_device_total_duration_ns"
        f" from marts.module_detail_comparison where {SCOPE} order by row_order"
    )
    assert rows == [
        ("/Net_0", "/Net_0", "[ TOTAL ]", None, 30),
        ("/Net_0/Norm_0", "/Net_0/Norm_0", "[ TOTAL ]", None, 0),
        ("/Net_0/Norm_0", "/Net_0/Norm_0", "aten::norm", "norm: 10 ns", 0),
        (None, "/Net_0/Relu_0", "[ TOTAL ]", None, 10),
        (None, "/Net_0/Relu_0", "aten::relu", "relu: 10 ns", 10),
        ("/Net_0/Linear_0", "/Net_0/Linear_0", "[ TOTAL ]", None, 20),
        ("/Net_0/Linear_0", "/Net_0/Linear_0", "aten::linear", "linear: 30 ns", 20),
    ]
    assert house.rows("select count(*) from intermediate.int_module_node where run_id = 'a'") == [(5,)]
    listed = "select operator_name, kernels from intermediate.int_module_kernel where run_id = 'b' order by all"
    assert house.rows(listed) == [
        ("aten::linear", "linear: 30 ns"),
        ("aten::norm", "norm: 10 ns"),
        ("aten::relu", "relu: 10 ns"),
    ]
    nodes = "select count(*), max(node) from intermediate.int_module_node_sequence where run_id = 'b' and step is null"
    assert house.rows(nodes) == [(7, 7)]
    paired = f"select count(*) from intermediate.int_alignment where {SCOPE} and tree = 'module call'"
    assert house.rows(paired) == [(7,)]
    assert house.rows("select count(*) from marts.module_sequence where run_id = 'a' and step is null") == [(3,)]
    kernels = (
        "select kernels from marts.module_entry where operator_key = 'aten::norm' and step is null and run_id = 'a'"
    )
    assert house.rows(kernels) == [("1 × norm: 10 ns",)]


OPERATORS = (
    "select base_operator_name, comparison_operator_name, base_device_duration_ns, comparison_device_duration_ns,"
    f" diff_device_duration_ns from marts.operator_detail_comparison where {SCOPE} order by row_order"
)


def test_operators_pair_in_order_and_unmatched_ones_stay():
    house = views(a=layers("Norm", "Linear"), b=layers("Norm", "Relu", "Linear", slower=[2]))
    assert house.rows(OPERATORS) == [
        ("aten::norm", "aten::norm", 10, 10, 0),
        (None, "aten::relu", None, 10, 10),
        ("aten::linear", "aten::linear", 10, 30, 20),
    ]
    first = house.one(
        f"select base_kernels, base_input_shapes, base_input_types from marts.operator_detail_comparison where {SCOPE}"
        " order by row_order"
        " limit 1"
    )
    assert first == ("norm, Other, stream 7: 10 ns", "[[0]]", '["float"]')
    assert house.rows("select count(*) from staging.stg_operator_input where run_id = 'a'") == [(2,)]
    assert house.rows("select count(*) from intermediate.int_operator_kernel where run_id = 'a'") == [(2,)]


def test_shapes_are_part_of_what_is_matched_where_that_is_asked_for():
    house = views(a=layers("Norm", "Linear"), b=layers("Norm", "Relu", "Linear"))
    with variable(house, "use_input_shape", True):
        assert [row[:2] for row in house.rows(OPERATORS)] == [
            ("aten::norm", "aten::norm"),
            ("aten::linear", None),
            (None, "aten::relu"),
            (None, "aten::linear"),
        ]


def test_forward_pairs_with_forward_and_the_nth_step_with_the_nth():
    def run(*numbers):
        return [
            [
                step(number, 1_000 * number, 900),
                op("aten::mm", 1_000 * number + 10, 10),
                op("MmBackward0", 1_000 * number + 5, 10, tid=2, forward_thread=1),
                annotation("Optimizer.step#SGD.step", 1_000 * number + 50, 50),
                op("aten::add_", 1_000 * number + 60, 10),
            ]
            for number in numbers
        ]

    house = views(a=run(1, 2), b=run(7))
    assert [row[:2] for row in house.rows(OPERATORS)] == [
        *[(name, name) for name in ("aten::mm", "MmBackward0", "aten::add_")],
        *[(name, None) for name in ("aten::mm", "MmBackward0", "aten::add_")],
    ]
    keys = "select alignment_key from intermediate.int_operator_sequence where run_id = 'b' and step = 7 order by place"
    assert [key.split("\x1f")[0] for (key,) in house.rows(keys)] == ["1", "1backward", "1Optimizer.step#SGD.step"]
    paired = f"select count(*) from intermediate.int_alignment where {SCOPE} and tree = 'operator'"
    assert house.rows(paired) == [(6,)]


def test_a_step_of_one_run_pairs_with_another_of_the_other():
    def run(*names):
        return [
            [step(number, 1_000 * number, 900), op(name, 1_000 * number + 10, 10)]
            for number, name in enumerate(names, 1)
        ]

    house = views(a=run("aten::mm", "aten::add"), b=run("aten::cos", "aten::sin"))
    names = "select base_operator_name, comparison_operator_name from marts.operator_detail_comparison_of_steps"
    assert house.rows(f"{names}('a', 1, 'b', 2) order by row_order") == [("aten::mm", None), (None, "aten::sin")]
    assert house.rows(f"{names}('a', 2, 'b', null) order by row_order") == [
        ("aten::add", None),
        (None, "aten::cos"),
        (None, "aten::sin"),
    ]


def test_an_operator_with_too_many_kernels_on_either_side_is_opened():
    # aten::outer: one kernel of its own, and two operators inside with two each (base) or one each (comparison)
    def run(kernels):
        events, number = (
            [op("aten::outer", 0, 500), launch("x", 1, 1, correlation=99), kernel("own", 9_000, 1, correlation=99)],
            0,
        )
        for inside in range(2):
            events.append(op(f"aten::inner{inside}", 10 + 100 * inside, 90))
            for _ in range(kernels):
                number += 1
                events += [
                    launch("x", 20 + 100 * inside + number, 1, correlation=number),
                    kernel("k", 9_000 + number, 10, correlation=number),
                ]
        return events

    house = views(a=run(2), b=run(1))
    assert house.rows(OPERATORS) == [("aten::outer", "aten::outer", 41, 21, -20)]
    house = views(a=run(2), b=run(1))
    with variable(house, "max_kernel_num", 4):
        assert house.rows(OPERATORS) == [
            ("aten::outer", "aten::outer", 1, 1, 0),
            ("aten::inner0", "aten::inner0", 20, 10, -10),
            ("aten::inner1", "aten::inner1", 20, 10, -10),
        ]
        for side, inside in (("base", 2), ("comparison", 1)):
            listed = f"select {side}_kernels from marts.operator_detail_comparison where {SCOPE} order by row_order"
            assert [kernels.split("\n") for (kernels,) in house.rows(listed)] == [
                ["own, Other, stream 7: 1 ns"],
                *[["k, Other, stream 7: 10 ns"] * inside] * 2,
            ]
        assert house.rows(f"select count(*) from intermediate.int_operator_pair where {SCOPE} and is_opened") == [(1,)]
        statistic = "select operator_name, base_call_count, base_device_duration_ns, diff_device_duration_ns"
        assert house.rows(f"{statistic} from marts.operator_comparison where {SCOPE} order by 1") == [
            ("aten::inner0", 1, 20, -10),
            ("aten::inner1", 1, 20, -10),
            ("aten::outer", 1, 1, 0),
        ]


def test_opened_operators_that_one_side_lacks_count_with_its_sign():
    def run(*names):
        return [
            [op(name, at, 50), launch("x", at + 1, 1, correlation=at), kernel("k", 9_000 + at, 10, correlation=at)]
            for at, name in zip(range(100, 900, 100), names, strict=False)
        ]

    house = views(a=run("aten::mm", "aten::old", "aten::old"), b=run("aten::mm", "aten::new"))
    columns = "operator_name, diff_call_count, diff_device_activity_count, diff_device_duration_ns"
    sql = f"select {columns} from marts.operator_comparison where {SCOPE} order by 1"
    with variable(house, "max_kernel_num", 4):
        assert house.rows(sql) == [("aten::mm", 0, 0, 0), ("aten::new", 1, 1, 10), ("aten::old", -2, -2, -20)]
    house = views(a=run("aten::mm", "aten::old"), b=run("aten::mm", "aten::new"))
    with variable(house, "op_name_map", json.dumps({"aten::old": "aten::new"})), variable(house, "max_kernel_num", 4):
        assert house.rows(sql) == [("aten::mm", 0, 0, 0), ("aten::old", 0, 0, 0)]  # under the base's name


def test_operators_of_one_name_by_the_map_list_their_kernels_by_their_own_names():
    def run(*calls):
        events = [python("nn.Module: Net_0", 0, 900, 1)]
        for at, (name, durations) in zip(range(100, 900, 100), calls, strict=False):
            events.append(op(name, at, 90))
            for place, duration in enumerate(durations):
                events.append(launch("x", at + 10 * place + 1, 1, correlation=at + place))
                events.append(kernel(f"k{place}", 9_000 + 2 * at + place, duration, correlation=at + place))
        return events

    house = views(a=run(("aten::b", [1]), ("aten::a", [2, 9])), b=[])
    with variable(house, "op_name_map", json.dumps({"aten::a": "aten::b"})):
        kernels = "select kernels, device_activity_count from marts.module_entry where operator_key = 'aten::b'"
        # By operator, and of each those with most time first.
        assert house.one(f"{kernels} and step is null") == ("1 × k1: 9 ns\n1 × k0: 2 ns\n1 × k0: 1 ns", 3)


def test_memory_pairs_by_the_outermost_operators_that_allocated():
    def run(size):
        return [
            op("aten::view", 0, 10),
            op("aten::mm", 20, 50),
            op("aten::empty", 30, 10),
            memory(size, at=35, address=1),
            memory(-size, at=60, address=1),
        ]

    house = views(a=run(64), b=run(256))
    assert house.rows(
        "select base_operator_name, base_allocations, comparison_allocated_bytes, diff_allocated_bytes,"
        f" ratio_allocated_bytes from marts.memory_detail_comparison where {SCOPE}"
    ) == [("aten::mm", "aten::empty, 64 bytes, 25 ns", 256, 192, 4.0)]
    assert house.rows("select allocation_count from intermediate.int_operator_memory where run_id = 'a'") == [(1,)]


def test_an_operator_that_allocates_on_one_side_stays_and_a_run_without_memory_events_does_not_tell():
    calls = [op("aten::mm", 20, 50), op("aten::add", 80, 10)]
    house = views(
        a=[*calls, memory(64, at=35, address=1)],
        b=[*calls, memory(16, at=85, address=1)],
        none=calls,
    )
    columns = "base_operator_name, base_allocated_bytes, comparison_allocated_bytes, diff_allocated_bytes"

    def compared(base, comparison):
        scope = SCOPE.replace("'a'", f"'{base}'").replace("'b'", f"'{comparison}'")
        return house.rows(f"select {columns} from marts.memory_detail_comparison where {scope} order by row_order")

    assert compared("a", "b") == [("aten::mm", 64, 0, -64), ("aten::add", 0, 16, 16)]
    assert compared("a", "none") == [("aten::mm", 64, None, None)]
    assert compared("none", "b") == [("aten::add", None, 16, None)]
