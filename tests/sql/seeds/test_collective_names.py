"""What names of kernels say about communication: seeds.kernel_class and seeds.collective, on names from real traces."""

from __future__ import annotations

import pytest

from tests.support.events import detail, kernel
from tests.support.views import views

# Kernels that communicate: (name, kind).
COMMUNICATION = [
    # NCCL, RCCL and libraries made after them
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce"),
    ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "allgather"),
    ("ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)", "allreduce"),
    ("ncclSymkDevKernel_ReduceScatter_LL_sum_f8e4m3(ncclSymkDevWorkArgs4K)", "reducescatter"),
    ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "sendrecv"),
    ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "unknown"),
    ("void rcclGenericKernel<1, false>(ncclDevComm*, channelMasks, ncclWork*)", "unknown"),
    ("mscclKernel_Sum_half_LL128_false(ncclDevComm*, mscclAlgo*, mscclWork*)", "unknown"),
    ("mcclKernel_AllReduce_RING_LL_Sum_float(mcclWorkElem)", "allreduce"),
    ("pcclKernel_twoShotAllReduceKernel", "allreduce"),
    ("void mscclpp::collective::allreduceAllPairs<__half>(__half*, __half*)", "allreduce"),
    ("allgather_gin_bench_kernel(ncclSymkDevWorkArgs4K, unsigned long*, int)", "allgather"),
    # NVSHMEM, its kin and PyTorch's symmetric memory
    ("void nvshmemi_alltoall_on_stream_kernel<int>(…)", "alltoall"),
    ("rocshmem_barrier_all_kernel", "barrier"),
    ("void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel(unsigned int**, int, int)", "barrier"),
    ("void c10d::symmetric_memory::(anonymous namespace)::multimem_all_reduce_kernel<float, 16>(…)", "allreduce"),
    ("void c10d::symmetric_memory::<unnamed>::put_signal_kernel(unsigned int**)", "signal"),
    ("void one_shot_all_reduce_kernel<c10::BFloat16, 8, 16>(c10::BFloat16**, c10::BFloat16*)", "allreduce"),
    ("void two_shot_all_reduce_kernel<float, 16, 4>(…)", "allreduce"),
    ("multimem_all_gather_kernel(…)", "allgather"),
    ("void c10d::intra_node_comm::oneShotAllReduceKernel<8u, true>(…)", "allreduce"),
    ("std::enable_if<(8 > 4) && !std::is_same<float, int>::value, void>::type ringAllReduceKernel<8>(…)", "allreduce"),
    # vLLM, SGLang
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "allreduce"),
    ("void sglang::cross_device_reduce_2stage<__half, 4>(sglang::RankData*)", "allreduce"),
    (
        "void quickreduce::allreduce_prototype_twoshot<AllReduceTwoshot<__half, CodecQ4<__half, 4>>, __half>",
        "allreduce",
    ),
    ("void quickreduce::quickreduce_prototype<AllReduceTwoshot<CodecFP>>(…)", "allreduce"),
    # flashinfer and TensorRT-LLM
    (
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
        "(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(…)",
        "allreduce",
    ),
    ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<…>(…)", "allreduce"),
    ("void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<(unsigned char)2, half>(…)", "allreduce"),
    ("void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<…>(…)", "allreduce"),
    ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true, false>(AllReduceParams)", "allreduce"),
    ("void tensorrt_llm::kernels::twoShotAllReduceKernel<__half, 8>(AllReduceParams)", "allreduce"),
    ("void tensorrt_llm::kernels::lowPrecisionTwoShotAllReduceKernel<__nv_bfloat16, 8>(…)", "allreduce"),
    ("void tensorrt_llm::ar_fusion::moe::moereduce_allreduce_fusion_kernel_oneshot_lamport<…>(…)", "allreduce"),
    ("void tensorrt_llm::kernels::minimax_reduce_rms_kernel_lamport<__nv_bfloat16, 8>(…)", "allreduce"),
    ("void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8, true>(int const*, …)", "dispatch"),
    ("void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<__nv_bfloat16, 8>(…)", "combine"),
    ("void tensorrt_llm::kernels::moeAllToAllKernel<false>(…)", "alltoall"),
    # Transformer Engine
    ("void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int, int, …)", "allgather"),
    ("void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(…)", "reducescatter"),
    ("void userbuffers_fp16_sum_inplace_gpu_mc<8>(…)", "allreduce"),
    ("kuserbuffers_pushsend(int*, int*, int4*)", "send"),
    ("kuserbuffers_pushrecv(int, int, int*)", "recv"),
    # aiter
    ("void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(…)", "allreduce"),
    ("void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, true>(…)", "allreduce"),
    ("void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(…)", "reducescatter"),
    ("void aiter::local_device_load_rmsnorm_naive<__hip_bfloat16, 512, 2>(…)", "allreduce"),
    ("void aiter::allgather_naive<__hip_bfloat16, 4>(…)", "allgather"),
    # Expert parallelism: phases are apart
    ("void deep_ep::intranode::notify_dispatch<8>(int const*, int*)", "notify"),
    ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", "dispatch"),
    ("void deep_ep::intranode::cached_notify_combine<8>(void**, int*)", "notify"),
    ("void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(…)", "combine"),
    ("void deep_ep::internode::cached_notify<false, 2>(…)", "notify"),
    ("void deep_ep::internode::dispatch<false, 4, true, 16>(int4*)", "dispatch"),
    ("void deep_ep::internode_ll::dispatch<true, false, 7168>(…)", "dispatch"),
    ("void deep_ep::internode_ll::combine<false, 7168, 9>(…)", "combine"),
    ("void deep_ep::internode_ll::clean_low_latency_buffer<256>(…)", "barrier"),
    ("void uccl::internode_ll::dispatch<true, 7168>(…)", "dispatch"),
    ("void uccl::intranode::cached_notify_combine<8>(…)", "notify"),
    ("EpCombineIntraNodeKernel_bf16_nop2p", "combine"),
    ("void dpsk::ep::internode::dispatch_ll<3, 10, 7168>(void*)", "dispatch"),
    ("void dpsk::ep::internode::combine_ll<3, 10, 7168, 9>(void*)", "combine"),
    ("void hybrid_ep::dispatch_kernel<unsigned char, 4>(hybrid_ep::dispatch_kernel_param_t<…>)", "dispatch"),
    ("void hybrid_ep::device_sync_kernel<4>(…)", "barrier"),
    ("void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(mori::moe::EpDispatchCombineArgs<…>)", "dispatch"),
    ("void mori::moe::EpCombineInterNodeV1Kernel<…>(…)", "combine"),
    # oneCCL, UCC, UCX, Gloo
    ("oneccl_reduce_base<float, 2, 16, 1, 1, 2>", "reduce"),
    ("oneccl_allgather_small_kernel<float>", "allgather"),
    ("sycl::_V1::detail::RoundedRangeKernel<sycl::_V1::item<1, true>, 1, oneccl_allreduce_small<float>>", "unknown"),
    ("ucc_ec_cuda_executor_kernel(…)", "unknown"),
    ("void ucp_device_put_kernel<2>(…)", "unknown"),
    ("void gloo::cuda_broadcast_kernel<float>(…)", "broadcast"),
    # Triton, by hand
    ("all_gather_push_kernel", "allgather"),
    ("kernel_ring_reduce_scatter_tma", "reducescatter"),
]  # fmt: skip
# Kernels of Ascend devices: (type, kind).
ASCEND = [
    ("hcom_allReduce_", "allreduce"),
    ("hcom_reduceScatter_", "reducescatter"),
    ("hcom_batchSendRecv_", "sendrecv"),
    ("MoeDistributeDispatch", "dispatch"),
    ("MoeDistributeDispatchV2", "dispatch"),
    ("MoeDistributeCombineV3", "combine"),
    ("MoeDistributeCombineAddRmsNorm", "combine"),
    ("CamMoeDispatchNormal", "dispatch"),
    ("NotifyDispatch", "notify"),
    ("DistributeBarrier", "barrier"),
    ("allgatherAicpuKernel", "allgather"),
    ("reduce_scatterAicpuKernel", "reducescatter"),
    ("alltoallvAicpuKernel", "alltoall"),
]
# Kernels that compute and communicate in one.
FUSED = [
    "AllGatherMatmulV2",
    "MatmulAllReduceAddRmsNorm",
    "QuantGroupedMatMulAlltoAllv",
    "AlltoAllAllGatherBatchMatMul",
    "BatchMatMulReduceScatterAlltoAll",
    "FusedDeepMoe",
    "persistent_gemm_all_reduce_kernel",
    "void flux::ag_gemm_kernel<…>",
    "kernel_gemm_reduce_scatter_tma_persistent",
    "_all_gather_matmul_kernel",
]
# Kernels that only look like it: (name, class).
COMPUTE = [
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, …>>(…)", "Vector"),
    ("void at::native::_scatter_gather_elementwise_kernel<128, 8, …>", "Vector"),
    ("void at::native::vectorized_gather_kernel<16, long>(…)", "Vector"),
    ("void at::native::index_elementwise_kernel<128, 4, …gather…>", "Vector"),
    ("void at::native::vectorized_elementwise_kernel<4, DistributedReducer_all_reduce_scale>", "Vector"),
    ("void at::native::elementwise_kernel<128, 2, c10d::all_to_all_reorder>(…)", "Vector"),
    ("triton_poi_fused_all_gather_into_tensor_split_with_sizes_copy_wait_tensor_3", "Vector"),
    ("triton_red_fused_add_all_reduce_mean_wait_tensor_7", "Vector"),
    ("triton_per_fused_native_layer_norm_reduce_scatter_tensor_1", "Vector"),
    ("triton_tem_fused_all_gather_mm_0", "Matmul"),
    ("triton_poi_fused_permute_reduce_scatter_tensor_2", "Vector"),
    ("triton_for_fused__foreach_all_gather_wait_tensor_0", "Vector"),
    ("triton_mix_fused_all_reduce_mean_2", "Vector"),
    ("triton_spl_fused_all_to_all_cumsum_1", "Vector"),
    ("block_all_reduce_sum_f32x4_f32_kernel<64>(float*, float*, int)", "Vector"),
    ("void WarpAllReduceSoftmax<float, 32>(…)", "Vector"),
    ("void small_reduce_kernel<float>(float*)", "Vector"),
    ("void smallGatherKernel<long>(long*)", "Vector"),
    ("void moe::prepDispatchKernel(int*)", "Other"),
    ("input_reduce_scatter_fusion_3", "Vector"),
    ("loop_all_reduce_add_fusion", "Vector"),
    ("void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*)", "Vector"),
    ("void tensorrt_llm::kernels::moe_comm::moeA2APrepareDispatchKernel(…)", "Vector"),
    ("void tensorrt_llm::kernels::moe_comm::moeA2ASanitizeExpertIdsKernel(…)", "Vector"),
    ("void c10d::checkForNaN<float>(float*, unsigned long)", "Vector"),
    ("void splitKreduce_kernel<32, 16, int, float>(…)", "Matmul"),
    ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(…)", "Matmul"),
    ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "Matmul"),
    ("void deep_gemm::fp8_gemm_kernel<7168u, 2048u>(…)", "Matmul"),
    ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<…>(…)", "Matmul"),
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "Matmul"),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs", "Matmul"),
    ("void vllm::moe::topkGatingSoftmax<8, 64>(…)", "Vector"),
    ("void vllm::reshape_and_cache_flash_kernel<…>(…)", "Other"),
    ("void moe_sum_reduce_kernel<…>(…)", "Vector"),
    ("void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<…>>(…)", "Flash Attention"),
    ("void pytorch_flash::flash_fwd_splitkv_combine_kernel<…>(…)", "Flash Attention"),
    ("mla_reduce_v1_kernel", "Vector"),
    ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<…>(…)", "Other"),
    ("void tensorrt_llm::kernels::lamport_initialize_kernel<float>(…)", "Other"),
    ("void tensorrt_llm::kernels::expandInputRowsKernel<…>(…)", "Other"),
    ("void permute_with_mask_map_kernel_dispatch(…)", "Vector"),
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(…)", "Vector"),
    ("void cub::DeviceReduceSingleTileKernel<…>(…)", "Vector"),
    ("void cub::DeviceScanKernel<…>(…)", "Other"),
    ("_fused_moe_kernel", "Other"),
    ("memory_efficient_moe_success_kernel", "Other"),
    ("void memorize_states(…)", "Other"),
    ("void broadcast_add_kernel<float>(…)", "Other"),
    ("send_to_cpu_pack_kernel", "Other"),
]  # fmt: skip
ASCEND_COMPUTE = [
    "ReduceMean", "ReduceSum", "ScatterNdUpdate", "GatherV2", "BroadcastTo", "MoeInitRoutingV2",
    "MoeComputeExpertTokens", "MoeFinalizeRoutingV2", "MoeTokenPermute", "GroupedMatmul", "ScatterElements",
]  # fmt: skip


def found(names):
    house = views([kernel(name, at * 10, 5) for at, name in enumerate(names)])
    return (
        house.pairs("select activity_name, kernel_class from intermediate.int_device_activity"),
        house.pairs("select kernel_name, collective_name from intermediate.int_collective"),
    )


@pytest.fixture(scope="module")
def told():
    return found([name for name, _ in COMMUNICATION] + FUSED + [name for name, _ in COMPUTE])


def test_there_are_enough_of_each():
    assert len(COMMUNICATION) + len(ASCEND) >= 60
    assert len(COMPUTE) + len(ASCEND_COMPUTE) >= 40


@pytest.mark.parametrize(("name", "kind"), COMMUNICATION)
def test_a_kernel_that_communicates_is_a_collective_of_its_kind(told, name, kind):
    classes, kinds = told
    assert (classes[name], kinds[name]) == ("Communication", kind)


@pytest.mark.parametrize("name", FUSED)
def test_a_kernel_that_computes_and_communicates_is_both(told, name):
    classes, kinds = told
    assert classes[name] == "Fused Compute and Communication"
    assert name not in kinds


@pytest.mark.parametrize(("name", "expected"), COMPUTE)
def test_a_kernel_that_computes_is_none_whatever_its_name_resembles(told, name, expected):
    classes, kinds = told
    assert classes[name] == expected
    assert name not in kinds


def test_kernels_of_ascend_devices_are_told_by_their_type():
    kinds = dict(ASCEND)
    rows = [detail(f"node_{at}", name, at * 10, 5) for at, name in enumerate([*kinds, *ASCEND_COMPUTE])]
    house = views(rows)
    communication = house.pairs(
        "select kernel_type, collective_name from intermediate.int_collective"
        " join intermediate.int_device_activity using (run_id, event_index)"
    )
    assert communication == kinds
    fused = views([detail(f"node_{at}", name, at * 10, 5) for at, name in enumerate(FUSED[:6])])
    assert set(fused.pairs("select kernel_type, kernel_class from intermediate.int_device_activity").values()) == {
        "Fused Compute and Communication"
    }
