"""Kernels and their classes: seeds.kernel_class, int_kernel_class, kernel."""

from __future__ import annotations

import pytest

from tests.support.events import collective, kernel, launch, memcpy, op, step
from tests.support.views import catalog, views

# What a kernel is told to be by its name alone: (name, class, unit).
BY_NAME = [
    # NVIDIA: matrix products
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "Matmul", "Cube"),
    ("ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn", "Matmul", "Cube"),
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "Matmul", "Cube"),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas", "Matmul", "Cube"),
    ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>", "Matmul", "Cube"),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(…::Params)", "Matmul", "Cube"),
    ("void cutlass::device_kernel<sm90::Something>", "Cube", None),
    ("void splitKreduce_kernel<32, 16, int, float, float>(cublasSplitKParams<float>)", "Matmul", "Vector"),
    ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(…)", "Matmul", "Vector"),
    ("void gemv2T_kernel_val<int, int, float, float>(…)", "Matmul", "Vector"),
    ("void gemvNSP_kernel<float, float, float, float, 1, 32>(…)", "Matmul", "Vector"),
    # NVIDIA: attention
    (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>",
        "Flash Attention",
        "Cube",
    ),
    ("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<…>", "Flash Attention", "Cube"),
    ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<…>>", "Flash Attention", "Cube"),
    ("fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention…)", "Flash Attention", "Cube"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128", "Flash Attention", "Cube"),
    ("void vllm::paged_attention_v1_kernel<unsigned short, 128, 16>(…)", "Paged Attention", None),
    # NVIDIA: convolutions
    ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3>(…)", "Conv", "Vector"),
    ("void cudnn::cnn::conv2d_grouped_direct_kernel<false, true>(…)", "Conv", "Cube"),
    ("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(…)", "Conv", "Vector"),
    ("_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmConvolution…", "Conv", "Cube"),
    ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_nhwckrsc_nchw_execute_kernel_cudnn_infer", "Conv", "Cube"),
    ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_nhwckrsc_nhwc_execute_kernel_cudnn_train", "Conv", "Cube"),
    # NVIDIA: the rest
    ("void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(…)", "Vector", "No Trans"),
    ("void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(…)", "Vector", "Trans"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", "Vector", "No Trans"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, …>>", "Vector", "No Trans"),
    ("void at::native::(anonymous namespace)::softmax_warp_forward<float, float>", "Vector", "No Trans"),
    ("void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, float>", "Vector", "No Trans"),
    ("void at::native::elementwise_kernel<128, 2, transpose_something>", "Vector", "Trans"),
    ("triton_poi_fused_add_relu_0", "Vector", "No Trans"),
    ("triton_red_fused_native_layer_norm_1", "Vector", "No Trans"),
    ("triton_poi_fused_permute_2", "Vector", "Trans"),
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*)", "Vector", "Trans"),
    ("void fbgemm_gpu::bounds_check_indices_kernel<long>(…)", "Vector", "No Trans"),
    ("my_own_kernel", "Other", None),
    ("", "Other", None),
    # NVIDIA: communication
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "Communication", None),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "Communication", None),
    ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(…)", "Communication", None),
    ("void two_shot_all_reduce_kernel<…>", "Communication", None),
    ("one_shot_all_reduce_kernel", "Communication", None),
    ("multimem_all_reduce_kernel", "Communication", None),
    ("void deep_ep::intranode::dispatch<8, 768>(…)", "Communication", None),
    ("nvshmemi_transfer_rma", "Communication", None),
    ("mscclpp_allreduce", "Communication", None),
    # AMD
    ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", "Matmul", "Cube"),
    ("attn_fwd", "Flash Attention", "Cube"),
    ("attn_bwd.kd", "Flash Attention", "Cube"),
    ("bwd_kernel_dk_dv", "Flash Attention", "Cube"),
    ("bwd_kernel_dq", "Flash Attention", "Cube"),
    ("void ck_tile::kentry<FmhaFwdKernel<…>>", "Flash Attention", "Cube"),
    ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x128x32_wt32x32x8_gkgs", "Conv", "Cube"),
    ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64_wt32x32x8_gkgs", "Conv", "Cube"),
    ("miopenSp3AsmConv_v30_3_1_gfx94_fp32_f3x2_stride1", "Conv", "Cube"),
    ("_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3…", "Conv", "Cube"),
    ("MIOpenBatchNormFwdTrainSpatial", "Vector", "No Trans"),
    ("batched_transpose_32x32_half", "Vector", "Trans"),
    ("rcclGenericKernel", "Communication", None),
    ("__amd_rocclr_copyBuffer", "Copy", None),
    ("__amd_rocclr_fillBufferAligned.kd", "Copy", None),
    ("MEMORY_COPY_DEVICE_TO_HOST", "Copy", None),
    # Ascend
    ("MatMulV2", "Matmul", "Cube"),
    ("BatchMatMulV2", "Matmul", "Cube"),
    ("Conv2D", "Conv", "Cube"),
    ("FlashAttentionScore", "Flash Attention", "Cube"),
    ("FusedInferAttentionScoreV2", "Flash Attention", "Cube"),
    ("PagedAttentionMaskKernel", "Paged Attention", None),
    ("TransData", "Vector", "Trans"),
    ("Transpose", "Vector", "Trans"),
    ("TensorMove", "SDMA (Tensor Move)", None),
    ("SoftmaxV2", "Vector", "No Trans"),
]
# With an operator: (operator, kernel, class, unit). The operator decides the class, the kernel the unit.
BY_OPERATOR = [
    ("aten::mm", "ampere_fp16_s16816gemm_fp16_128x64", "Matmul", "Cube"),
    ("aten::mm", "void splitKreduce_kernel<32, 16>(…)", "Matmul", "Vector"),
    ("aten::mm", "void at::native::elementwise_kernel<…>", "Matmul", "Vector"),
    ("aten::mm", "nameless", "Matmul", "Vector"),
    ("aten::bmm", "void gemvx::kernel<…>", "Matmul", "Vector"),
    ("aten::addmm", "Cijk_Alik_Bljk_BBS_BH", "Matmul", "Cube"),
    ("aten::addmm_", "Cijk_Alik_Bljk_BBS_BH", "Matmul", "Cube"),
    ("aten::baddbmm", "nvjet_hsh_128x64", "Matmul", "Cube"),
    ("aten::linear", "nvjet_hsh_128x64", "Matmul", "Cube"),
    ("aten::_scaled_mm", "nvjet_qqtst_128x64", "Matmul", "Cube"),
    ("aten::convolution", "sm80_xmma_fprop_implicit_gemm_tf32f32", "Conv", "Cube"),
    ("aten::cudnn_convolution", "void cudnn::ops::nchwToNhwcKernel<float>", "Conv", "Vector"),
    ("aten::miopen_convolution", "igemm_fwd_gtcx3_nhwc_bf16", "Conv", "Cube"),
    ("aten::convolution_backward", "sm80_xmma_dgrad_implicit_gemm_tf32f32", "Conv", "Cube"),
    ("aten::_flash_attention_forward", "attn_fwd", "Flash Attention", "Cube"),
    ("aten::_flash_attention_backward", "void at::native::elementwise_kernel<…>", "Flash Attention", "Vector"),
    ("aten::_efficient_attention_forward", "fmha_cutlassF_f16", "Flash Attention", "Cube"),
    ("aten::_scaled_dot_product_cudnn_attention", "cudnn_…_sdpa_sm90_flash_fprop_wgmma", "Flash Attention", "Cube"),
    ("npu::npu_fusion_attention", "FlashAttentionScore", "Flash Attention", "Cube"),
    ("npu::npu_fused_infer_attention_score", "nameless", "Flash Attention", "Vector"),
    ("vllm::paged_attention_v1", "nameless", "Paged Attention", None),
    ("aten::add", "void at::native::vectorized_elementwise_kernel<…>", "Vector", "No Trans"),
    ("aten::add", "nvjet_hsh_128x64", "Matmul", "Cube"),
    # An operator that is none of the classes leaves it to the kernel, also where its name resembles one.
    ("aten::upsample_bilinear2d", "void at::native::upsample_bilinear2d_out_frame<…>", "Vector", "No Trans"),
    ("aten::upsample_linear1d", "void at::native::upsample_linear1d_out_frame<…>", "Vector", "No Trans"),
    ("aten::_convert_indices_from_csr_to_coo", "void at::native::convert_kernel<…>", "Vector", "No Trans"),
    ("fbgemm::permute_2D_sparse_data", "void fbgemm_gpu::permute_2D_lengths_kernel<int>", "Vector", "Trans"),
    ("fbgemm::bounds_check_indices", "void fbgemm_gpu::bounds_check_indices_kernel<long>", "Vector", "No Trans"),
    # A matrix product inside an operator of attention is one; what has no name of its own is part of the attention.
    ("MyFlashAttnFunction", "nvjet_hsh_128x64", "Matmul", "Cube"),
    ("FlashAttnVarlenFunc", "Cijk_Alik_Bljk_BBS_BH", "Matmul", "Cube"),
    ("vllm::paged_attention_v1", "ampere_bf16_s16816gemm_bf16_64x64", "Matmul", "Cube"),
    ("aten::_flash_attention_forward", "void cutlass::device_kernel<sm90::Something>", "Flash Attention", "Cube"),
    ("_FlashAttnFunc", "void pytorch_flash::flash_fwd_kernel<…>", "Flash Attention", "Cube"),
    ("flash_attn::fwd", "kernel_batched_gemm_softmax_gemm_xdl_cshuffle_v1<…>", "Flash Attention", "Cube"),
    ("aten::convolution", "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n", "Conv", "Cube"),
    # Communication and copies are told by the kernel alone.
    ("aten::mm", "ncclDevKernel_AllReduce", "Communication", None),
    ("aten::mm", "__amd_rocclr_copyBuffer", "Copy", None),
]


@pytest.fixture(scope="module")
def classes():
    """(operator, kernel) -> (class, unit), for all pairs at once."""
    events = [kernel(name, 10, 5) for name, *_ in BY_NAME]
    for number, (operator, name, *_) in enumerate(BY_OPERATOR, 1):
        events += [
            op(operator, 0, 10, tid=number),
            launch("cudaLaunchKernel", 5, 1, correlation=number, tid=number),
            kernel(name, 20, 5, correlation=number),
        ]
    sql = "select (operator_name, kernel_name), kernel_class, kernel_unit from intermediate.int_kernel_class"
    return views(events).pairs(sql)


@pytest.mark.parametrize(("name", "expected", "unit"), BY_NAME)
def test_without_an_operator_the_name_tells_class_and_unit(classes, name, expected, unit):
    assert classes["", name] == (expected, unit)


@pytest.mark.parametrize(("operator", "name", "expected", "unit"), BY_OPERATOR)
def test_the_operator_tells_the_class_and_the_kernel_the_unit(classes, operator, name, expected, unit):
    assert classes[operator, name] == (expected, unit)


def test_a_name_is_a_pattern_in_any_case_and_the_first_that_matches_wins():
    # Both *nccl* and *gemm* match; *nccl* stands first.
    house = views(kernel("NCCL_GEMM", 10, 5), kernel("CUBLAS_GEMM", 20, 5))
    assert house.pairs("select kernel_name, kernel_class from intermediate.int_kernel_class") == {
        "NCCL_GEMM": "Communication",
        "CUBLAS_GEMM": "Matmul",
    }


def test_characters_that_mean_something_in_patterns_mean_nothing_in_names():
    house = views(kernel("k[0]*?", 10, 5), kernel("100%_done", 20, 5))
    assert house.rows("select kernel_name, kernel_class from intermediate.int_kernel_class order by 1") == [
        ("100%_done", "Other"),
        ("k[0]*?", "Other"),
    ]


def test_the_rule_that_decided_is_said():
    house = views(
        kernel("gemm", 10, 5),
        kernel("mystery", 20, 5),
        op("aten::mm", 0, 10),
        launch("x", 5, 1, correlation=1),
        kernel("gemm under mm", 30, 5, correlation=1),
        collective("allreduce", 40, 5, kernel_name="mystery too"),
        kernel("ncclDevKernel", 50, 5),
    )
    assert house.pairs("select kernel_name, class_rule from marts.kernel") == {
        "gemm": "kernel is a matrix product",
        "mystery": "no rule",
        "gemm under mm": "operator is a matrix product",
        "mystery too": "carries Collective name",
        "ncclDevKernel": "name contains nccl",
    }


def test_every_rule_of_the_seed_has_a_known_class_and_unit_and_stands_once():
    seed = catalog().seeds["kernel_class"]
    rules = [dict(zip(seed.columns, row, strict=True)) for row in seed.rows]
    assert {rule["subject"] for rule in rules} == {"kernel", "symbol", "auxiliary", "operator"}
    assert {rule["class"] for rule in rules} <= {
        "Communication",
        "Copy",
        "Fused Compute and Communication",
        "Flash Attention",
        "Paged Attention",
        "Conv",
        "Matmul",
        "Cube",
        "Vector",
        "SDMA (Tensor Move)",
    }
    assert {rule["unit"] for rule in rules if rule["class"] == "Vector"} == {"Trans", "No Trans"}
    assert all(rule["rule"] for rule in rules)
    first = {}
    for rule in rules:
        assert first.setdefault((rule["subject"], rule["pattern"]), rule) is rule, "a pattern stands twice"


# -- the mart ----------------------------------------------------------------------------------------------


def test_kernels_are_counted_by_name_and_shapes_for_the_run_and_for_each_step():
    def launched(shapes, at, name, start, duration):
        return [
            op("aten::mm", at, 10, input_shapes=shapes),
            launch("cudaLaunchKernel", at + 1, 1, correlation=at),
            kernel(name, start, duration, correlation=at),
        ]

    house = views(
        step(1, 0, 100),
        launched("[[8]]", 10, "gemm", 200, 10),
        launched("[[8]]", 30, "gemm", 220, 21),
        launched("[[9]]", 50, "gemm", 250, 5),
        launched("[[8]]", 110, "gemm", 260, 3),
        kernel("add", 300, 4),
    )
    assert house.rows(
        "select step, kernel_name, input_shapes, call_count, total_duration_ns, average_duration_ns, max_duration_ns,"
        " min_duration_ns from marts.kernel order by all"
    ) == [
        (1, "gemm", "[[8]]", 2, 31, 16, 21, 10),  # 15.5 is rounded
        (1, "gemm", "[[9]]", 1, 5, 5, 5, 5),
        (None, "add", None, 1, 4, 4, 4, 4),
        (None, "gemm", "[[8]]", 3, 34, 11, 21, 3),
        (None, "gemm", "[[9]]", 1, 5, 5, 5, 5),
    ]


def test_every_kernel_has_a_row_collectives_and_copies_written_as_kernels_too_but_no_copies():
    house = views(
        kernel("gemm", 10, 5),
        collective("allreduce", 20, 5),
        kernel("__amd_rocclr_copyBuffer", 30, 5),
        memcpy(40, 5),
        kernel("no time", 50, None),
    )
    assert house.pairs("select kernel_name, kernel_class, kernel_unit from marts.kernel") == {
        "gemm": ("Matmul", "Cube"),
        "ncclDevKernel": ("Communication", None),
        "__amd_rocclr_copyBuffer": ("Copy", None),
    }


def test_one_kernel_under_two_operators_has_a_row_for_each_class():
    house = views(
        op("aten::mm", 0, 10, tid=1),
        launch("x", 5, 1, correlation=1, tid=1),
        op("aten::convolution", 0, 10, tid=2),
        launch("x", 5, 1, correlation=2, tid=2),
        kernel("shared", 20, 5, correlation=1),
        kernel("shared", 30, 7, correlation=2),
    )
    assert house.rows("select kernel_class, total_duration_ns from marts.kernel order by 1") == [
        ("Conv", 7),
        ("Matmul", 5),
    ]
