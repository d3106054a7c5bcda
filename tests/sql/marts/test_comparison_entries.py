"""What comparisons compare: relations with one row per run, step and key."""

from __future__ import annotations

from tests.support.events import collective, detail, hcom, kernel, launch, memory, op, plane_task, step, tracks
from tests.support.views import views


def launched(operator, shapes, at, name, start, duration):
    return [
        op(operator, at, 10, input_shapes=shapes),
        launch("cudaLaunchKernel", at + 1, 3, correlation=at),
        kernel(name, start, duration, correlation=at),
    ]


def test_memory_adds_up_the_devices_of_an_operator():
    house = views(
        op("aten::empty", 0, 50),
        memory(100, at=10, address=1, device=0),
        memory(-100, at=30, address=1, device=0),
        memory(300, at=20, address=2, device=1),
    )
    assert house.rows("select * exclude (run_id, step) from marts.memory_entry where step is null") == [
        ("aten::empty", 400, 2, 300, 20)
    ]


def test_kernels_stand_by_their_name_and_by_the_operator_that_launched():
    house = views(
        launched("aten::mul", "[[4]]", 1, "triton_poi_fused_mul_3", 100, 10),
        launched("aten::mul", "[[4]]", 200, "triton_poi_fused_mul_7", 300, 30),
    )
    found = house.rows(
        "select matched_by, kernel_key, common_name, kernel_name, kernel_name_count, total_duration_ns, call_count"
        " from marts.kernel_entry where step is null order by matched_by"
    )
    assert found == [
        ("kernel", "triton_poi_fused_mul_*", "triton_poi_fused_mul_*", "triton_poi_fused_mul_7", 2, 40, 2),
        ("operator", "aten::mul", "aten::mul", "triton_poi_fused_mul_7", 2, 40, 2),
    ]


def test_kernels_of_an_npu_stand_by_their_type():
    house = views(v1=[detail("MatMul1", "MatMul", 100, 10, accelerator_core="AI_CORE")], v2=[kernel("gemm", 0, 5)])
    columns = "run_id, matched_by, kernel_type, accelerator_core, total_duration_ns"
    assert house.rows(f"select {columns} from marts.kernel_type_entry where step is null order by 1, 2 desc") == [
        ("v1", "type", "MatMul", "AI_CORE", 10),
        ("v1", "operator", "(no launch in the trace)", None, 10),
        ("v2", "operator", "(no launch in the trace)", None, 5),
    ]
    matches = "select base_run_id, comparison_run_id, matched_by from intermediate.int_kernel_type_match order by all"
    assert house.rows(matches) == [
        ("v1", "v1", "type"),
        ("v1", "v2", "operator"),
        ("v2", "v1", "operator"),
        ("v2", "v2", "operator"),
    ]


def test_a_collective_stands_above_its_tasks_and_each_row_bears_the_time_of_the_collective():
    house = views(
        tracks(planes=1),
        hcom("hcom_allReduce__1_0", 0, 100),
        plane_task("Reduce_Inline", 10, 30),
        plane_task("Reduce_Inline", 50, 20),
    )
    columns = "collective_name, task_name, depth, total_duration_ns, call_count, collective_duration_ns"
    assert house.rows(f"select {columns} from marts.communication_entry where step is null order by depth") == [
        ("allreduce", None, 0, 100, 1, 100),
        ("allreduce", "Reduce_Inline", 1, 50, 2, 100),
    ]


def test_the_collectives_of_several_groups_are_one():
    house = views(
        collective("allreduce", 0, 10, group="tp", sent=4, received=4),
        collective("allreduce", 20, 30, group="dp", sent=4, received=4),
    )
    columns = "call_count, total_duration_ns, average_duration_ns, max_duration_ns, min_duration_ns, output_bytes"
    assert house.rows(f"select {columns} from marts.communication_entry where step is null") == [
        (2, 40, 20, 30, 10, 32)
    ]


def test_a_step_has_its_size():
    house = views(step(1, 0, 100), launch("cudaLaunchKernel", 2, 3, 1), kernel("k", 10, 95, correlation=1))
    columns = "step, is_complete, duration_ns, duration_with_tail_ns, device_activity_count, device_duration_ns"
    assert house.rows(f"select {columns} from intermediate.int_step_size") == [(1, True, 100, 105, 1, 95)]


def test_operators_are_compared_whatever_is_opened():
    """The rows of marts.operator_comparison where no number of kernels opens operators."""
    house = views(v1=[op("aten::mm", 0, 30)], v2=[op("aten::mm", 0, 50)])
    pair = "base_run_id = 'v1' and comparison_run_id = 'v2'"
    columns = "operator_name, diff_host_duration_ns"
    assert house.rows(f"select {columns} from marts.operator_total_comparison where {pair}") == [("aten::mm", 20)]
