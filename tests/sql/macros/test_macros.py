"""The macros that views share."""

from __future__ import annotations

import pytest

from tests.support.views import Views


@pytest.fixture(scope="module")
def house():
    return Views({})


@pytest.mark.parametrize(
    ("base", "comparison", "expected"),
    [
        (4, 5, 1.25),
        (4, 0, 0.0),
        (0, 0, 1.0),
        (0, 5, None),
        (None, 5, None),
        (5, None, None),
        (None, 0, None),
        (None, None, None),
    ],
)
def test_ratio_is_comparison_over_base(house, base, comparison, expected):
    assert house.connection.execute("select macros.ratio(?::bigint, ?::bigint)", [base, comparison]).fetchone() == (
        expected,
    )


@pytest.mark.parametrize(
    ("size", "duration", "expected"),
    [(4000, 2000, 2e9), (0, 5, 0.0), (5, 0, None), (5, -1, None), (None, 5, None), (5, None, None)],
)
def test_bandwidth_is_bytes_per_second_of_nanoseconds(house, size, duration, expected):
    found = house.connection.execute("select macros.bandwidth(?::bigint, ?::bigint)", [size, duration]).fetchone()
    assert found == (expected,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ProfilerStep#0", True),
        ("ProfilerStep#123456789012345678", True),
        ("ProfilerStep#1234567890123456789", False),
        ("ProfilerStep#", False),
        ("ProfilerStep#-1", False),
        ("ProfilerStep#1 ", False),
        ("a ProfilerStep#1", False),
        ("profilerstep#1", False),
        ("", False),
    ],
)
def test_a_step_marker_is_told_by_its_whole_name(house, name, expected):
    assert house.connection.execute("select macros.is_step_marker(?::varchar)", [name]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MmBackward0", True),
        ("aten::convolution_backward", True),
        ("autograd::engine::evaluate_function: X", True),
        ("torch::autograd::AccumulateGrad", True),
        ("aten::mm", False),
        ("", False),
    ],
)
def test_an_operator_of_the_backward_pass_is_told_by_its_name(house, name, expected):
    assert house.connection.execute("select macros.is_backward_name(?::varchar)", [name]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("name", "parent", "own"),
    [
        ("/Net_0", None, "Net_0"),
        ("/Net_0/Linear_3", "/Net_0", "Linear_3"),
        ("[ BACKWARD ]/Net_0", None, "[ BACKWARD ]/Net_0"),
        ("[ BACKWARD ]/Net_0/Linear_3", "[ BACKWARD ]/Net_0", "Linear_3"),
        ("Optimizer.step#SGD.step", None, "Optimizer.step#SGD.step"),
        ("", None, "(outside any module)"),
        (None, None, None),
    ],
)
def test_own_name_is_the_name_without_those_around(house, name, parent, own):
    assert house.connection.execute("select macros.own_name(?, ?)", [name, parent]).fetchone() == (own,)


@pytest.mark.parametrize(
    ("kernel_type", "name", "expected"),
    [
        ("MatMulV2", "aclnnMatmul_1", "MatMulV2"),
        ("N/A", "gemm", "gemm"),
        (None, "hcom_allReduce__538_0_1", "hcom_allReduce_"),
        (None, "hcom_allReduce__538_0_1@14972622761537322538", "hcom_allReduce_"),
        (None, "hcom_send_1", "hcom_send_"),
        (None, "HCOM_batchSendRecv__128_3_1", "HCOM_batchSendRecv_"),
        (None, "hcom_allReduce_", "hcom_allReduce_"),
        (None, "hcom_allReduce_mine", "hcom_allReduce_mine"),
        (None, "my_hcom_allReduce__538_0_1", "my_hcom_allReduce__538_0_1"),
    ],
)
def test_the_key_of_a_kernel_is_its_type_or_its_name_without_numbers_of_collectives(house, kernel_type, name, expected):
    sql = "select macros.kernel_key(?::varchar, ?::varchar)"
    assert house.connection.execute(sql, [kernel_type, name]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("[[8, 64], [64]]", "8,64;64"),
        ("8,64;\r\n64", "8,64;64"),
        ("[[8, 64], [64], []]", "8,64;64;"),
        ("8,64;64;", "8,64;64;"),
        ("[]", ""),
        ("[[]]", ""),
        ("", ""),
        (None, None),
        # Lists of tensors: what is one input stays apart from as many inputs.
        ("[[[2, 3], [4, 5]], [6, 7], []]", "[2,3;4,5];6,7;"),
        ("[[2, 3], [4, 5], [6, 7], []]", "2,3;4,5;6,7;"),
        ("[[[2, 3]], [4, 5], [6, 7], []]", "[2,3];4,5;6,7;"),
        ("[[6, 7], [[2, 3], [4, 5]]]", "6,7;[2,3;4,5]"),
        ("[[[1], [2]], [[3]]]", "[1;2];[3]"),
        ("[[[]], [2]]", "[];2"),
        ("[[[], [2]], []]", "[;2];"),
        ("[[[2], []], []]", "[2;];"),
        ("[[[4]]]", "[4]"),
    ],
)
def test_shapes_have_one_way_of_writing_and_lists_of_tensors_keep_their_brackets(house, shapes, expected):
    assert house.connection.execute("select macros.shapes_text(?::varchar)", [shapes]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("text", "device", "stream", "last"),
    [
        ("7", None, None, 7),
        ("-1", None, None, -1),
        ("Device 0", 0, None, 0),
        ("GPU3", 3, None, 3),
        ("cuda:12", 12, None, 12),
        ("/device:GPU:1 (NVIDIA H100)", 1, None, None),
        ("AMD Instinct MI300X GPU 2", 2, None, 2),
        ("npu-1", 1, None, 1),
        ("dev-1", None, None, 1),
        ("Stream 7", None, 7, 7),
        ("Stream #13(MemcpyH2D)", None, 13, None),
        ("queue 4 (default)", None, 4, None),
        ("CUDA API 7 ", None, None, 7),
        ("12 34", None, None, 34),
        ("HIP Queue 3 of device 2", 2, 3, 2),
        ("GPU 3x", 3, None, None),
        ("device x 3", None, None, 3),
        *(
            (f"{kind} {number}", number, None, number)
            for number, kind in enumerate(["XPU", "NPU", "hip", "musa", "MTIA", "HPU", "tpu"])
        ),
        ("1 COPY", None, None, None),
        ("python", None, None, None),
        ("99999999999999999999", None, None, None),
        ("", None, None, None),
        (None, None, None, None),
    ],
)
def test_numbers_of_devices_and_streams_in_texts(house, text, device, stream, last):
    numbers = "macros.device_number($text), macros.stream_number($text), macros.last_number($text)"
    found = house.connection.execute(f"select {numbers}", {"text": text}).fetchone()
    assert found == (device, stream, last)


@pytest.mark.parametrize(
    ("task_type", "expected"),
    [
        *((kind, True) for kind in ("AI_CORE", "ai_vector_core", "MIX_AIC", "MIX_AIV", "KERNEL_AIVEC", "DSA_SQE")),
        *((kind, True) for kind in ("AIC", "AIV_SQE", "OTHER", "other")),
        *((kind, False) for kind in ("OTHERS", "EVENT_RECORD", "MEMCPY_ASYNC", "HCCL", "X_AI_CORE", "")),
    ],
)
def test_a_task_is_a_kernel_by_its_type(house, task_type, expected):
    assert house.connection.execute("select macros.is_kernel_task(?::varchar)", [task_type]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("core", "matrix_ns", "unit"),
    [
        ("AI_CORE", 5, "Cube"),
        ("AI_VECTOR_CORE", 5, "Cube"),
        ("AI_CORE", 0, "Vector"),
        ("MIX_AIC", 0, "Vector"),
        (None, 0, "Vector"),
        ("AI_VECTOR_CORE", None, "Vector"),
        ("mix_aiv", None, "Vector"),
        ("mix_aic", None, "Cube"),
        ("AI_CORE", None, ""),
        (None, None, ""),
    ],
)
def test_the_unit_is_told_by_the_time_of_the_matrix_core_then_by_the_core(house, core, matrix_ns, unit):
    sql = "select macros.measured_unit(?::varchar, ?::bigint)"
    assert house.connection.execute(sql, [core, matrix_ns]).fetchone() == (unit,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Default/network-Net/conv-Conv2d/Conv2D-op8", "Conv2D"),
        ("Kernel::KernelLaunch::Default/net/MatMul-op12", "MatMul"),
        ("a/b-op1-op2", "b-op1"),
        ("a/b-op", "b-op"),
        ("aten::mm", "aten::mm"),
        ("mm-op3", "mm-op3"),
        ("void f<a/b>(c)", "void f<a/b>(c)"),
    ],
)
def test_a_name_without_its_scope(house, name, expected):
    assert house.connection.execute("select macros.unscoped_name(?::varchar)", [name]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void at::native::k<float, (a)>(b)", "void at::native::k"),
        ("void (anonymous namespace)::f<int>(x)", "void ::f"),
        ("a::<unnamed>::b::<unnamed>::g(int)", "a::::b::::g"),
        ("(anonymous)::h<1>", "::h"),
        ("gemm", "gemm"),
    ],
)
def test_a_symbol_is_a_name_without_arguments(house, name, expected):
    assert house.connection.execute("select macros.kernel_symbol(?::varchar)", [name]).fetchone() == (expected,)


@pytest.mark.parametrize(
    ("factor", "other", "expected"),
    [(3, -4, -12), (1 << 31, 1 << 31, 1 << 62), (1 << 32, 1 << 31, None), (None, 2, None), (2, None, None)],
)
def test_a_product_is_known_where_64_bits_hold_it(house, factor, other, expected):
    found = house.connection.execute("select macros.product(?::bigint, ?::bigint)", [factor, other]).fetchone()
    assert found == (expected,)


@pytest.mark.parametrize(("run", "quantity", "expected"), [(None, None, 0), ("a", None, None), ("a", 5, 5)])
def test_a_side_without_a_row_has_nothing_and_one_that_was_not_measured_is_not_known(house, run, quantity, expected):
    found = house.connection.execute("select macros.or_nothing(?::varchar, ?::bigint)", [run, quantity]).fetchone()
    assert found == (expected,)


def test_a_name_is_mapped_where_the_map_has_it(house):
    house.connection.execute("""set variable op_name_map = '{"a": "b"}'""")
    assert house.connection.execute("select macros.mapped_name('a'), macros.mapped_name('b')").fetchone() == ("b", "b")
    assert house.connection.execute("select macros.mapped_name('c')").fetchone() == ("c",)
    house.connection.execute("reset variable op_name_map")
    assert house.connection.execute("select macros.mapped_name('a')").fetchone() == ("a",)
