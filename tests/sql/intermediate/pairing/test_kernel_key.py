"""Names of kernels across builds: int_kernel_key, and what kernel_comparison makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.events import about, detail, kernel, launch, op
from tests.support.views import Views, views

COPY = (
    "void at::native::elementwise_kernel<{size}, 4, copy({arguments})::{{lambda()#{number}}}::operator()() const>(int)"
)
# Pairs of names that two builds, or two compilations, have for one kernel, and what they have in common.
SAME = [
    ("f({lambda()#3}::operator()()::{lambda(float)#1})", "f({lambda()#12}::operator()()::{lambda(float)#2})"),
    ("void k<{unnamed type#1}>(int)", "void k<{unnamed type#4}>(int)"),
    ("void k<f()::'lambda'(int)>(int)", "void k<f()::'lambda3'(int)>(int)"),
    ("void k<f()::$_0>(int)", "void k<f()::$_12>(int)"),
    ("void k<class <lambda_9f3a>>(int)", "void k<class <lambda_1>>(int)"),
    ("k<[lambda(float) (instance 1)]>", "k<[lambda(float) (instance 3)]>"),
    (
        "void k<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(int), &g, (unsigned int)1> > >",
        "void k<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(int), &g, (unsigned int)22> > >",
    ),
    (
        "void k<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(at::Vec<float, 4u>), &g<at::Vec<float, 4u> >, 3u> > >",
        "void k<__nv_dl_wrapper_t<__nv_dl_tag<void (*)(at::Vec<float, 4u>), &g<at::Vec<float, 4u> >, 9u> > >",
    ),
    ("_ZN2at6kernelIZNS_3addERNS_4IterEEUlffE_EEvT_", "_ZN2at6kernelIZNS_3addERNS_4IterEEUlffE3_EEvT_"),
    ("void (anonymous namespace)::k(int)", "void <unnamed>::k(int)"),
    ("void at::(anonymous namespace)::k(int)", "void at::_GLOBAL__N__1c2a9f0b_10_Foo_cu_5e2b1a0c::k(int)"),
    ("at::_GLOBAL__N__1c2a9f0b_10_Foo_cu_5e2b1a0c::k(int)", "at::_GLOBAL__N__77aa01ff_10_Foo_cu_00112233::k(int)"),
    ("void _INTERNAL_aabbccdd_7_Foo_cu_11223344::k(int)", "void (anonymous namespace)::k(int)"),
    ("k__internal_ab12cd34_5_foo_cu_99aabbcc", "k__internal_00aa11bb_5_foo_cu_12345678"),
    ("_ZN41_GLOBAL__N__ab12cd34_5_a_cu_99aabbcc1kEv", "_ZN41_GLOBAL__N__ffffffff_5_a_cu_000000001kEv"),
    ("apply<<function f at 0x7f00aa11bb22>>", "apply<<function f at 0x7fde00000000>>"),
    ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_7"),
    ("triton_per_fused__softmax_12", "triton_per_fused__softmax_0"),
    ("triton_red_fused__to_copy_mean_pow_1", "triton_red_fused__to_copy_mean_pow_23"),
    ("triton_tem_fused_mm_0", "triton_tem_fused_mm_4"),
    ("triton_poi_fused_3", "triton_poi_fused_0"),
    ("triton_for_fused_1", "triton_for_fused_2"),
    ("triton_fused_add_1", "triton_fused_add_22"),
    ("triton_poi_fused_add_3_0d1d2d3d", "triton_poi_fused_add_5_0d1d2d3de4"),
    ("cuda_fused_mm_0", "cuda_fused_mm_9"),
    ("_fwd_kernel_0d1d2d34d5d6de7c", "_fwd_kernel"),
    ("gemm_kernel.kd", "gemm_kernel"),
    ("void f(int) [clone .kd]", "void f(int)"),
    ("cutedsl_gemm_0a1b2c3d4e5f60718293", "cutedsl_gemm_ffeeddccbbaa99887766"),
]  # fmt: skip
# Pairs that are not one kernel.
OTHERS = [
    ("k<float>{lambda()#1}", "k<double>{lambda()#1}"),
    ("k<{lambda(float)#1}>", "k<{lambda(double)#1}>"),
    ("k<128, 4>", "k<256, 4>"),
    ("k<(unsigned int)1>", "k<(unsigned int)2>"),
    ("triton_poi_fused_add_mul_3", "triton_red_fused_add_mul_3"),
    ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_3"),
    ("triton_poi_fused_conv2d_1", "triton_poi_fused_conv3d_1"),
    ("triton__0d1d2d", "triton__0d1d2d3d"),
    ("nvjet_hsh_128x128_64x4_1x2_h_bz_TNT", "nvjet_hsh_128x256_64x4_1x2_h_bz_TNT"),
    ("sm80_xmma_gemm_f16f16_f16f32_tn_n_tilesize128x64x32", "sm80_xmma_gemm_f16f16_f16f32_tn_n_tilesize128x64x64"),
    ("Cijk_Alik_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SN", "Cijk_Alik_Bljk_HHS_BH_MT256x128x16_MI32x32x8x1_SN"),
    ("cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4", "cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4"),
    ("layer_norm_kernel_2", "layer_norm_kernel_3"),
    ("relu_6", "relu_7"),
    ("_ZN2at1kILi4EEEvv", "_ZN2at1kILi8EEEvv"),
    ("a::k(int)", "b::k(int)"),
    ("conv_0x10_16", "conv_0x20_16"),
]  # fmt: skip


def keys(*names):
    """The key of each name."""
    house = views([kernel(name, 10 * place, 5) for place, name in enumerate(names)])
    found = house.pairs("select kernel_name, kernel_key from intermediate.int_kernel_key")
    return [found[name] for name in names]


@pytest.fixture(scope="module")
def key_of():
    names = sorted({name for pair in SAME + OTHERS for name in pair})
    return dict(zip(names, keys(*names), strict=True))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_builds_number_differently_has_one_key(key_of, one, other):
    assert key_of[one] == key_of[other]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_kernels_of_other_types_arguments_tiles_and_work_keep_keys_of_their_own(key_of, one, other):
    assert key_of[one] != key_of[other]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_*"),
        ("triton_poi_fused_add_3_0d1d2d", "triton_poi_fused_add_*"),
        ("f<g()::{lambda()#3}>", "f<g()::{lambda()#*}>"),
        ("void <unnamed>::k(int)", "void (anonymous namespace)::k(int)"),
        ("vectorized_elementwise_kernel<4, f>", "vectorized_elementwise_kernel<4, f>"),
        ("", ""),
    ],
)
def test_the_key_is_the_name_with_a_star_for_a_number(name, key):
    assert keys(name) == [key]


FRAGMENTS = [
    "triton_", "poi_", "fused", "_add", "_3", "_12", "_0d1d2d", "{lambda()#1}", "'lambda2'", "UlvE3_", "_ZN",
    "_GLOBAL__N__", "ab12cd34", "_5_a_cu_", "0x7f00aa11bb22", "_", "#", "}", "<", ">", "(", ")", "_internal_", "::",
    " [clone .x]", "$_0", "k", ".kd", "*", "<unnamed>",
]  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=7).map("".join), min_size=20, max_size=60, unique=True))
def test_no_name_is_lost_and_a_key_says_what_the_name_does(names):
    found = keys(*names)
    assert len(found) == len(names)
    assert all(key is not None for key in found)


def test_an_ascend_kernel_is_named_by_its_type():
    house = views(
        detail("aclnnMatmul_12_{lambda()#1}", "MatMulV2", 10, 5),
        detail("Add_7", "N/A", 20, 5),
        detail("hcom_allReduce__538_0_1", "N/A", 30, 5),
    )
    assert house.pairs("select kernel_name, kernel_key from intermediate.int_kernel_key") == {
        "aclnnMatmul_12_{lambda()#1}": "MatMulV2",
        "Add_7": "Add_7",
        "hcom_allReduce__538_0_1": "hcom_allReduce_",
    }


# -- side by side ------------------------------------------------------------------------------------------------------

WHOLE = "base_run_id = 'v1' and comparison_run_id = 'v2' and base_step is null and comparison_step is null"
NAMES = (
    "select kernel_name, input_shapes, base_kernel_name, base_kernel_name_count, base_total_duration_ns,"
    " comparison_kernel_name, comparison_kernel_name_count, comparison_total_duration_ns, diff_total_duration_ns"
    f" from marts.kernel_comparison where {WHOLE} order by all"
)


def fused(number, at, duration, shapes="[[8]]", name="triton_poi_fused_add_mul_{}"):
    return [
        op("Torch-Compiled Region", at, 9, input_shapes=shapes),
        launch("cuLaunchKernel", at + 1, 2, correlation=at),
        kernel(name.format(number), at + 1_000, duration, correlation=at),
    ]


def test_kernels_that_differ_in_numbers_are_one_row_with_the_full_names_beside():
    old, new = (
        COPY.format(size=128, arguments="at::Iter&", number=number).replace("copy(", "copy<{lambda(int)#1}>(")
        for number in (3, 12)
    )
    house = views(v1=[kernel(old, 10, 40)], v2=[kernel(new, 10, 60)])
    common = new.replace("#12}", "#*}").replace("#1}", "#*}")
    assert house.rows(NAMES) == [(common, None, old, 1, 40, new, 1, 60, 20)]


def test_several_kernels_of_one_key_add_up_and_their_number_is_said():
    house = views(
        v1=[fused(3, 100, 10), fused(4, 200, 25), fused(4, 300, 25), fused(4, 400, 7, "[[9]]")],
        v2=[fused(7, 100, 30), fused(9, 200, 1, name="triton_red_fused_add_mul_{}")],
    )
    add_mul = "triton_poi_fused_add_mul_{}".format
    assert house.rows(NAMES) == [
        (add_mul("*"), "[[8]]", add_mul(4), 2, 60, add_mul(7), 1, 30, -30),
        (add_mul(4), "[[9]]", add_mul(4), 1, 7, None, None, None, -7),
        ("triton_red_fused_add_mul_9", "[[8]]", None, None, None, "triton_red_fused_add_mul_9", 1, 1, 1),
    ]
    averages = "base_average_duration_ns, base_max_duration_ns, base_min_duration_ns, base_call_count"
    found = house.rows(f"select {averages} from marts.kernel_comparison where {WHOLE} and base_kernel_name_count = 2")
    assert found == [(20, 25, 10, 3)]


def test_where_one_side_has_several_kernels_of_a_key_the_row_has_the_name_of_the_key():
    house = views(v1=[fused(3, 100, 10), fused(4, 200, 5)], v2=[fused(3, 100, 12)])
    name = "triton_poi_fused_add_mul_{}".format
    assert house.rows(NAMES) == [(name("*"), "[[8]]", name(3), 2, 15, name(3), 1, 12, -3)]


def test_a_kernel_of_two_classes_is_one_kernel_and_its_name_is_shown():
    house = views(
        v1=[
            [
                op(f"aten::{name}", at, 9),
                launch("x", at + 1, 2, correlation=at),
                kernel("k", at + 50, 5, correlation=at),
            ]
            for name, at in (("mm", 100), ("convolution", 200))
        ],
        v2=[kernel("k", 0, 4)],
    )
    assert house.rows(NAMES) == [("k", None, "k", 1, 10, "k", 1, 4, -6)]
    classes = f"select kernel_class from marts.kernel_comparison where {WHOLE}"
    assert views(v1=[], v2=[kernel("gemm", 0, 4)]).rows(classes) == [("Matmul",)]
    assert views(v1=[kernel("gemm", 0, 4)], v2=[]).rows(classes) == [("Matmul",)]


def test_a_run_keeps_the_full_names_and_one_name_on_both_sides_is_shown_whole():
    house = views(v1=[fused(3, 100, 10)], v2=[fused(3, 100, 12)])
    assert house.rows("select run_id, kernel_name, kernel_key from marts.kernel order by 1") == [
        ("v1", "triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_*"),
        ("v2", "triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_*"),
    ]
    name = "triton_poi_fused_add_mul_3"
    assert house.rows(NAMES) == [(name, "[[8]]", name, 1, 10, name, 1, 12, 2)]


def test_between_devices_of_two_kinds_the_full_names_are_of_the_operators_main_kernels():
    house = views(
        v1=[
            op("aten::mm", 0, 20),
            [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (5, 7, 9, 11)],
            kernel("big_gemm", 30, 9, correlation=5),
            [kernel("bias", 10 * at, 2, correlation=at) for at in (7, 9, 11)],
        ],
        v2=[about(device_name="NPU"), detail("MatMul_1", "MatMulV2", 10, 7)],
    )
    assert house.rows(NAMES) == [
        ("(no launch in the trace)", None, None, None, None, "MatMulV2", 1, 7, 7),
        ("aten::mm", None, "big_gemm", 2, 15, None, None, None, -15),
    ]


def test_an_empty_seed_or_none_that_matches_leaves_names_alone():
    house = Views({"run": [kernel("triton_poi_fused_add_3", 0, 5)]})
    house.connection.execute("delete from seeds.kernel_numbering")
    assert house.rows("select kernel_key from intermediate.int_kernel_key") == [("triton_poi_fused_add_3",)]
