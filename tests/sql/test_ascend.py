"""Views over Ascend profiles: rows of traces, kernel details and CANN's own tables in, rows out."""

from __future__ import annotations

import pytest

from tests.support.events import (
    about,
    allocation,
    analysed,
    detail,
    device_flow,
    event,
    hcom,
    kernel,
    launch,
    memory,
    metadata,
    on_track,
    op,
    overlap,
    plane_task,
    python,
    sample,
    statistic,
    step,
    task,
    tracks,
)
from tests.support.views import views


def test_what_is_recorded_is_kept_as_it_is():
    house = views(
        detail("MatMul_1", "MatMulV2", 100, 30, accelerator_core="AI_CORE", stream=2, step=7, device=1),
        detail("hcom_allReduce__1", "hcom_allReduce_", 200, None, accelerator_core="COMMUNICATION"),
        allocation("aten::mm", 512, at=5, held=10, device=1, total_reserved=2048),
        allocation("aten::mm", -512, at=6),
        sample("APP", 7, 4096, device=1),
        statistic("op_statistic", "MatMulV2", "AI_CORE", 3, 90),
        analysed("communication", "hcom_allReduce__1", process_group="77", step="7", kind="collective", wait_ns=4),
        analysed(
            "bandwidth", "hcom_allReduce__1", process_group="77", step="7", transport="Rdma", bytes=64, transit_ns=8
        ),
        analysed("matrix", "allreduce-top1", source_rank=0, target_rank=1, transport="HCCS"),
        event("dequeue", "Dequeue@MatMul", 20, 4, correlation=9),
        metadata(
            "parallel_group_info",
            {
                "g%1": {"group_name": "dp", "global_ranks": [0, 1, 2]},
                "g2": {"global_ranks": []},
                "g3": {"group_name": "", "global_ranks": [5]},
            },
        ),
        metadata("ENV_VARIABLES", {"x": {"group_name": "none"}}),
    )
    found = "select kernel_name, kernel_type, is_communication, end_ns, step, device from staging.stg_kernel_detail"
    assert house.rows(f"{found} order by 1") == [
        ("MatMul_1", "MatMulV2", False, 130, 7, 1),
        ("hcom_allReduce__1", "hcom_allReduce_", True, None, None, None),
    ]
    assert house.one("select operator_name, bytes, held_ns from staging.stg_allocation") == ("aten::mm", 512, 10)
    assert house.one("select component, total_reserved_bytes from staging.stg_memory_sample") == ("APP", 4096)
    assert house.one("select source, name, call_count from staging.stg_statistic") == ("op_statistic", "MatMulV2", 3)
    operation = "select step, operation_kind, process_group, wait_ns from staging.stg_communication_operation"
    assert house.one(operation) == (7, "collective", "77", 4)
    assert house.one("select transport, bytes from staging.stg_communication_transfer") == ("RDMA", 64)
    assert house.one("select correlation, end_ns from staging.stg_dequeue") == (9, 24)
    groups = "select process_group, group_name, group_size from staging.stg_process_group order by 1"
    assert house.rows(groups) == [("g%1", "dp", 3), ("g2", "g2", 0), ("g3", "g3", 1)]


def test_the_level_of_a_run_is_known():
    settings = {"experimental_config": {"_profiler_level": "Level0"}}
    house = views(
        pt=[metadata("config", settings), metadata("other", {"profiler_level": "Level2"})],
        ms=[metadata("profiler_parameters", {"with_stack": True, "profiler_level": "Level1"})],
        old=[metadata("profiler_parameters", {"with_stack": True})],
    )
    levels = {"ms": "Level1", "pt": "Level0"}
    assert house.pairs("select * from staging.stg_profiler_level") == levels
    assert house.pairs("select run_id, profiler_level from marts.run order by 1") == levels | {"old": None}


def test_tracks_are_told_by_the_names_of_their_processes():
    house = views(
        tracks(("0", "tp"), planes=1),
        task("MatMul_1", 100, 10),
        hcom("hcom_allReduce__1", 200, 20, group=1),
        plane_task("Memcpy", 205, 5, group=1),
        overlap(2, 200, 20),
        on_track("cann", "AscendCL@aclrtMalloc", 50, 5),
        on_track("unnamed", "?", 60, 5),
        op("aten::mm", 10, 5),
    )
    assert house.rows(
        "select event_name, track, process_group, thread_name"
        " from intermediate.int_track_event order by start_ns, track"
    ) == [
        ("AscendCL@aclrtMalloc", "cann", None, None),
        ("MatMul_1", "task", None, None),
        ("hcom_allReduce__1", "collective", "tp", "Group tp Communication"),
        ("interval", "overlap", None, "Communication(Not Overlapped)"),
        ("Memcpy", "plane", None, "Plane 0"),
    ]
    assert house.one("select tid, process_group from intermediate.int_plane_group") == ("11", "tp")
    unread = "select event_category, process_name, event_count from staging.stg_unread_event"
    assert house.rows(unread) == [("", "unnamed", 1)]
    assert house.one("select track_name from staging.stg_track_name where pid = 'cann'") == ("CANN",)


def activities(house):
    columns = "activity_name, activity_kind, stream, start_ns, end_ns, flow_index, is_collective"
    return house.rows(f"select {columns} from intermediate.int_activity order by start_ns")


def test_kernels_are_the_rows_of_the_kernel_details_and_find_their_flow_by_their_start():
    house = views(
        tracks(),
        device_flow(5, 10, 100),
        device_flow(6, 20, 200, "hccl", 0),
        task("MatMul_1", 100, 31, stream=4),
        task("MEMCPY_ASYNC", 150, 5, stream=4),
        task("MEMCPY_ASYNC", 160, 5, stream=9),
        task("EVENT_WAIT", 170, 5, stream=4, task_type="EVENT_WAIT_SQE"),
        hcom("hcom_allReduce__1", 200, 20),
        detail("MatMul_1", "MatMulV2", 100, 30),
        detail("hcom_allReduce__1", "hcom_allReduce_", 200, 20, accelerator_core="HCCL"),
    )
    assert activities(house) == [
        ("MatMul_1", "kernel", 4, 100, 130, 12, False),
        ("MEMCPY_ASYNC", "memcpy", 4, 150, 155, None, False),
        ("hcom_allReduce__1", "kernel", None, 200, 220, 14, True),
    ]
    flows = "select flow_id, is_arrival, time_ns from staging.stg_device_flow where flow_id = '5' order by 2"
    assert house.rows(flows) == [("5", False, 10), ("5", True, 100)]


def test_of_several_flows_to_one_task_the_first_of_the_file_tells_the_launch():
    house = views(
        tracks(),
        op("aten::second", 10, 5),
        op("aten::first", 20, 5),
        device_flow(5, 20, 100),
        device_flow(6, 10, 100),
        task("MatMul_1", 100, 30),
        detail("MatMul_1", "MatMulV2", 100, 30),
    )
    assert house.one("select operator_name from intermediate.int_device_activity") == ("aten::first",)


def test_the_device_of_a_profile_is_the_one_that_any_of_its_tables_tells():
    devices = "select run_id, device from intermediate.int_device_activity"
    house = views(
        none=[detail("a", "A", 0, 5)],
        sample=[detail("a", "A", 0, 5), sample("APP", 1, 64, device=3)],
        own=[detail("a", "A", 0, 5, device=4), sample("APP", 1, 64, device=3)],
    )
    assert house.pairs(devices) == {"none": 0, "sample": 3, "own": 4}


def test_without_kernel_details_kernels_are_tasks_and_without_a_trace_collectives_are_rows_of_the_details():
    trace = [tracks(), device_flow(5, 10, 120), task("a", 100, 10), task("b", 120, 10, task_type="Other")]
    trace += [task("c", 140, 10, task_type="Other"), task("Notify", 160, 10, task_type="Notify Wait")]
    rows = [detail("a", "A", 100, 10), detail("hcom_send_1", "hcom_send_", 120, 10, accelerator_core="HCCL")]
    house = views(trace=trace, details=rows)
    found = "select run_id, activity_name, is_collective from intermediate.int_activity order by 1, start_ns"
    assert house.rows(found) == [
        ("details", "a", False),
        ("details", "hcom_send_1", True),
        ("trace", "a", False),
        ("trace", "b", False),
    ]


#            0    100       200       300       400
# compute         [== 100 ==]           [= 50 =]
# allreduce            [===== 150 =====]
# copy       [ 20 ]                                   (before the first kernel: outside)
NPU = [
    tracks(),
    step(1, 0, 1_000),
    task("MEMCPY_ASYNC", 0, 20),
    task("MEMCPY_ASYNC", 305, 10),
    detail("MatMul_1", "MatMulV2", 100, 100, stream=2, matrix_ns=60, step=1, input_shapes="8,8;8,8"),
    detail("Conv_1", "Conv2DBackpropInput", 350, 50, stream=2, matrix_ns=9, step=1),
    hcom("hcom_allReduce__1", 150, 150, data_type="FP32", count=16),
]


def overall(house, run="run"):
    return house.pairs(f"select metric, duration_ns from marts.overall where run_id = '{run}' and step is null")


def test_the_scope_is_that_of_kernels_and_collectives_and_copies_count_inside_of_it():
    figures = overall(views(NPU))
    assert figures["E2E Time"] == 300
    assert figures["Computing Time"] == 150
    assert figures["Uncovered Communication Time"] == 100
    assert figures["SDMA"] == 10
    assert figures["Free"] == 40
    assert figures["Conv (Backward, Cube)"] == 50
    assert figures["Matmul (Cube)"] == 100


def test_tables_without_a_trace_do_not_tell_copies():
    house = views(detail("MatMul1", "MatMul", 100, 50, step=1), detail("Add1", "Add", 170, 30, step=1))
    figures = house.pairs("select metric, duration_ns from marts.overall where step is null")
    assert (figures["E2E Time"], figures["Computing Time"], figures["Free Time"]) == (100, 80, 20)
    assert figures["SDMA"] is None and figures["Free"] is None


def test_the_overlap_analysis_has_the_last_word_and_is_held_against_the_activities():
    recorded = [
        overlap(0, 100, 101),
        overlap(0, 350, 50),
        overlap(1, 150, 150),
        overlap(2, 200, 99),
        overlap(3, 299, 51),
    ]
    house = views(run=[NPU, recorded], wrong=[NPU, overlap(0, 100, 290)])
    figures = overall(house)
    assert [
        figures[metric] for metric in ("E2E Time", "Computing Time", "Uncovered Communication Time", "Free Time")
    ] == [
        300,
        151,
        99,
        50,
    ]
    assert figures["SDMA"] + figures["Free"] == 50
    assert house.one("select e2e_ns, interval_count from intermediate.int_overlap where run_id = 'run'") == (300, 5)
    check = "select metric, recorded_duration_ns, computed_duration_ns, agrees from marts.overlap_check"
    assert ("Computing Time", 151, 150, True) in house.rows(f"{check} where run_id = 'run'")
    assert ("Computing Time", 290, 150, False) in house.rows(f"{check} where run_id = 'wrong'")
    problem = "select run_id, problem_count, detail from marts.problem where kind = 'overlap_analysis'"
    assert house.rows(problem) == [("wrong", 5, "Communication Time differs by 150 ns")]
    # It is that of the whole run: a step has what its activities tell.
    step_figures = house.pairs("select metric, duration_ns from marts.overall where run_id = 'run' and step = 1")
    assert (step_figures["E2E Time"], step_figures["Computing Time"]) == (300, 150)


@pytest.mark.parametrize(("wrong", "agrees"), [(0, True), (3, True), (4, False)])
def test_each_interval_and_each_activity_may_be_rounded_by_a_nanosecond(wrong, agrees):
    # Two kernels and one interval: three nanoseconds.
    house = views(tracks(), detail("a", "A", 0, 50), detail("b", "B", 50, 50), overlap(0, 0, 100 - wrong))
    check = "select rounding_ns, difference_ns, agrees from marts.overlap_check where metric = 'Computing Time'"
    assert house.one(check) == (3, wrong, agrees)


def test_waiting_is_that_of_the_plane_with_the_least_and_only_where_nothing_is_computed():
    # The kernel covers 150..200 of the collective; plane 0 waits 170..230, plane 1 150..290, plane 2 exchanges by RDMA.
    tasks = [
        plane_task("Notify_Wait", 170, 60, plane=0),
        plane_task("Notify_Wait", 150, 140, plane=1),
        plane_task("RDMASend", 150, 1, plane=2),
        plane_task("RDMASend", 151, 1, plane=2),
        plane_task("Notify_Wait", 152, 1, plane=2),
        plane_task("RDMASend", 153, 1, plane=2),
        plane_task("Notify_Wait", 154, 100, plane=2),
        plane_task("Notify_Wait", 260, 35, plane=2),
    ]
    house = views(NPU, tracks(planes=3), tasks)
    assert house.rows(
        "select plane, is_wait, start_ns from intermediate.int_collective_task"
        " where plane = 3 and task_name = 'Notify_Wait' order by start_ns"
    ) == [(3, False, 152), (3, False, 154), (3, True, 260)]
    wait = "select process_group, uncovered_ns, wait_ns from intermediate.int_communication_wait where step is null"
    assert house.one(wait) == ("0", 100, 30)
    figures = overall(house)
    assert (figures["Group 0"], figures["Group 0 (Wait)"], figures["Group 0 (Transmit)"]) == (100, 30, 70)
    assert "Overlap of Groups" not in figures  # there is one


@pytest.mark.parametrize(
    ("names", "is_wait"),
    [
        (["RDMASend", "RDMASend", "Notify_Wait"], False),
        (["RDMASend", "RDMASend", "Notify Wait"], False),
        (["RDMASend", "RDMASend", "Notify_Wait", "RDMASend", "Notify_Wait"], False),
        (["RDMASend", "RDMASend", "Notify Wait", "RDMASend", "Notify Wait"], False),
        # near misses of either
        (["Notify_Wait"], True),
        (["RDMASend", "Notify_Wait"], True),
        (["RDMASend", "Memcpy", "Notify_Wait"], True),
        (["Memcpy", "RDMASend", "Notify_Wait"], True),
        (["RDMASend", "Notify_Wait", "RDMASend", "Notify_Wait"], True),
        (["Memcpy", "RDMASend", "Notify_Wait", "RDMASend", "Notify_Wait"], True),
        (["RDMASend", "Memcpy", "Notify_Wait", "RDMASend", "Notify_Wait"], True),
        (["RDMASend", "RDMASend", "Memcpy", "RDMASend", "Notify_Wait"], True),
        (["RDMASend", "RDMASend", "Notify_Wait", "Memcpy", "Notify_Wait"], True),
        # no wait at all
        (["RDMASend", "RDMASend", "RDMASend"], False),
        (["Notify_Record"], False),
    ],
)
def test_a_wait_behind_the_pattern_of_an_exchange_by_rdma_is_none(names, is_wait):
    house = views(tracks(), [plane_task(name, 10 * place, 5) for place, name in enumerate(names)])
    waits = "select is_wait from intermediate.int_collective_task order by start_ns desc limit 1"
    assert house.one(waits) == (is_wait,)


def test_the_pattern_is_that_of_one_plane():
    house = views(
        tracks(planes=2),
        [plane_task("RDMASend", at, 2) for at in (0, 10)],
        plane_task("Notify_Wait", 20, 5, plane=1),
    )
    waits = "select is_wait from intermediate.int_collective_task where task_name = 'Notify_Wait'"
    assert house.one(waits) == (True,)


def named_tracks(pid, process, names):
    """Threads by number under a process."""
    known = [("process_name", 0, process), *(("thread_name", tid, name) for tid, name in names.items())]
    return [
        event(None, kind, None, None, phase="M", pid=pid, tid=tid, args={"name": name}) for kind, tid, name in known
    ]


def test_groups_and_planes_are_in_order_of_their_numbers():
    # As texts, 10 to 13 would stand before 9. Both groups communicate all the time, so that times do not tell.
    groups = {9: "Group a Communication", 10: "Plane 0", 11: "Plane 1", 12: "Group b Communication", 13: "Plane 0"}
    house = views(
        named_tracks("hccl", "HCCL", groups),
        [on_track("hccl", "hcom_allReduce__1", 0, 1_000, tid) for tid in (9, 12)],
        [on_track("hccl", "Memcpy", 10 * tid, 5, tid) for tid in (10, 11, 13)],
    )
    assert house.pairs("select tid, process_group from intermediate.int_plane_group") == {
        "10": "a", "11": "a", "13": "b",
    }  # fmt: skip


def test_groups_that_communicate_at_the_same_time_overlap_and_without_tasks_waiting_is_not_known():
    house = views(NPU, tracks(("0", "1")), hcom("hcom_allGather__2", 250, 80, group=1))
    figures = overall(house)
    assert figures["Uncovered Communication Time"] == 130
    assert (figures["Group 0"], figures["Group 1"], figures["Overlap of Groups"]) == (100, 80, 50)
    assert "Group 0 (Wait)" not in figures


def test_a_fused_kernel_computes_as_long_as_the_matrix_core_works():
    figures = overall(views(detail("f", "AllGatherMatmul", 0, 100, accelerator_core="MIX_AIC", core_ns=70)))
    assert figures["Fused Compute and Communication"] == 100
    assert figures["Fused Compute and Communication (Computing)"] == 70
    assert figures["Fused Compute and Communication (Communication)"] == 30


def test_the_measured_unit_decides_and_a_kernel_that_no_rule_knows_has_the_class_of_its_unit():
    house = views(
        detail("a", "SomeNewOp", 0, 1, matrix_ns=1),
        detail("b", "SomeOtherOp", 2, 1, accelerator_core="AI_VECTOR_CORE"),
        detail("c", "MatMulV2", 4, 1, matrix_ns=0),
        detail("d", None, 6, 1),
        detail("e", "TransData", 8, 1, accelerator_core="AI_VECTOR_CORE"),
    )
    assert house.rows(
        "select kernel_name, kernel_class, kernel_unit from marts.kernel where step is null order by 1"
    ) == [
        ("a", "Cube", None),
        ("b", "Vector", "No Trans"),
        ("c", "Matmul", "Vector"),
        ("d", "Other", None),
        ("e", "Vector", "Trans"),
    ]


def test_kernel_types_are_counted_and_shown_beside_canns_own_sums():
    own = [statistic("op_statistic", "MatMulV2", "AI_CORE", 2, 301)]
    rows = [detail(f"m{at}", "MatMulV2", at, 100 + at, accelerator_core="AI_CORE") for at in (0, 100)]
    house = views(both=[own, rows], alone=own)
    columns = "call_count, total_duration_ns, max_duration_ns, recorded_call_count, recorded_duration_ns"
    found = f"select run_id, kernel_type, accelerator_core, {columns} from marts.kernel_type order by run_id"
    assert house.rows(found) == [
        ("alone", "MatMulV2", "AI_CORE", 2, 301, None, 2, 301),
        ("both", "MatMulV2", "AI_CORE", 2, 300, 200, 2, 301),
    ]


def test_kernel_types_are_without_collectives_and_canns_own_sums_stand_beside_the_whole_run_alone():
    rows = [
        detail("a", "MatMulV2", 0, 10, accelerator_core="AI_CORE", step=3),
        detail("b", "hcom_allReduce_", 20, 10, accelerator_core="HCCL", step=3),
    ]
    own = [
        statistic("op_statistic", "MatMulV2", "AI_CORE", 5, 100),
        statistic("op_statistic", "Cast", "AI_VECTOR_CORE", 1, 4),
    ]
    house = views(run=[rows, own])
    columns = "step, kernel_type, call_count, total_duration_ns, recorded_call_count, recorded_duration_ns"
    assert house.rows(f"select {columns} from marts.kernel_type order by all") == [
        (3, "MatMulV2", 1, 10, None, None),
        (None, "MatMulV2", 1, 10, 5, 100),
    ]


def test_canns_own_sums_of_one_type_add_up_and_each_call_weighs_the_same():
    def sums(count, total, average):
        return statistic("op_statistic", "Cast", "AI_CORE", count, total, average_ns=average, min_ns=1, max_ns=total)

    house = views(one=[sums(3, 10, 4)], two=[sums(3, 10, 3), sums(1, 50, 50)])
    columns = "run_id, call_count, total_duration_ns, average_duration_ns, max_duration_ns, min_duration_ns"
    assert house.rows(f"select {columns} from marts.kernel_type order by 1") == [
        ("one", 3, 10, 4, 10, 1),  # as CANN has it
        ("two", 4, 60, 15, 50, 1),
    ]


def test_tasks_stand_under_their_collective_in_a_comparison():
    tasks = [plane_task("Memcpy", 160, 10, size=4), plane_task("Memcpy", 180, 20, size=6), plane_task("Memcpy", 900, 1)]
    house = views(v1=[NPU], v2=[NPU, tasks])
    found = "select collective_name, task_name, call_count, total_duration_ns, bytes from marts.communication_task"
    assert house.rows(f"{found} where step is null order by 1 desc") == [
        ("allreduce", "Memcpy", 2, 30, 10),
        ("(no collective)", "Memcpy", 1, 1, None),
    ]
    rows = house.rows(
        "select collective_name, task_name, depth, base_total_duration_ns, comparison_total_duration_ns"
        " from marts.communication_comparison where base_run_id = 'v1' and comparison_run_id = 'v2'"
        " and base_step is null and comparison_step is null and collective_name = 'allreduce' order by depth"
    )
    assert rows == [("allreduce", None, 0, 150, 150), ("allreduce", "Memcpy", 1, None, 30)]


def test_collectives_have_the_names_of_gpus_and_the_group_of_the_job():
    groups = metadata("parallel_group_info", {"0": {"group_name": "dp", "global_ranks": [0, 1]}})
    house = views(
        trace=[NPU, groups],
        details=[
            detail("hcom_allGather__9_0", "hcom_allGather_", 0, 5, accelerator_core="HCCL"),
            analysed("communication", "hcom_allGather__9_0", process_group="77"),
        ],
    )
    columns = "collective_name, process_group, group_size, data_type, input_bytes, output_bytes"
    assert house.rows(f"select {columns} from marts.communication where step is null order by 1") == [
        ("allgather", "77", None, None, None, None),
        ("allreduce", "dp", 2, "FP32", 64, 64),
    ]


def test_transports_sum_and_their_bandwidth_is_without_waiting():
    house = views(
        [analysed("bandwidth", "h", transport="RDMA", bytes=size, transit_ns=10, step="3") for size in (100, 0, 300)]
    )
    columns = "step, transport, transfer_count, bytes, transit_duration_ns, transport_bandwidth"
    found = f"select {columns} from marts.communication_transport order by step nulls first"
    assert house.rows(found) == [(None, "RDMA", 2, 400, 30, 400e9 / 30), (3, "RDMA", 2, 400, 30, 400e9 / 30)]


def test_transports_of_two_runs_meet_and_a_missing_one_counts_as_nothing():
    def transfer(transport, size, time):
        return analysed("bandwidth", "h", transport=transport, bytes=size, transit_ns=time)

    house = views(base=[transfer("SDMA", 100, 10)], comparison=[transfer("SDMA", 100, 20), transfer("RDMA", 7, 5)])
    assert house.rows(
        "select transport, base_transit_duration_ns, comparison_transit_duration_ns, diff_transit_duration_ns,"
        " diff_bytes, ratio_transit_duration_ns, base_transport_bandwidth, comparison_transport_bandwidth"
        " from marts.communication_transport_comparison"
        " where base_run_id = 'base' and comparison_run_id = 'comparison'"
        " and base_step is null and comparison_step is null order by transport"
    ) == [("RDMA", None, 5, 5, 7, None, None, 7e9 / 5), ("SDMA", 10, 20, 10, 0, 2.0, 10e9, 5e9)]


def test_calls_of_cann_are_listed_apart_from_the_trace_else_from_canns_own_sums():
    own = statistic("api_statistic", "aclrtMalloc", "acl", 5, 50)
    calls = [on_track("cann", "AscendCL@aclrtMalloc", at, 4, args={"level": "acl"}) for at in (0, 10)]
    house = views(trace=[tracks(), calls, own], sums=[own])
    found = "select run_id, call_level, call_name, call_count, total_duration_ns from marts.cann_call order by 1"
    assert house.rows(found) == [("sums", "acl", "aclrtMalloc", 5, 50), ("trace", "acl", "aclrtMalloc", 2, 8)]
    assert house.rows("select * from marts.host_call") == []


def test_calls_of_cann_of_one_name_are_one_row_and_the_level_of_collectives_has_one_name():
    calls = [on_track("cann", "HcclAllReduce", at, 4 + at, args={"level": "communication"}) for at in (0, 11)]
    sums = [statistic("api_statistic", "HcclAllReduce", "communication", *sums) for sums in ((3, 10), (1, 50))]
    house = views(trace=[tracks(), calls, on_track("cann", "x", 50, 0)], sums=sums)
    columns = "run_id, call_level, call_name, call_count, total_duration_ns, average_duration_ns"
    assert house.rows(f"select {columns} from marts.cann_call order by all") == [
        ("sums", "hccl", "HcclAllReduce", 4, 60, 15),
        ("trace", "hccl", "HcclAllReduce", 2, 19, 10),
        ("trace", "unknown", "x", 1, 0, 0),
    ]


def test_an_allocation_of_cann_belongs_to_the_operator_that_enqueued_the_work():
    house = views(
        step(1, 0, 1_000),
        op("aten::mm", 10, 50),
        event("enqueue", "Enqueue", 20, 5, correlation=3),
        event("dequeue", "Dequeue@MatMul", 100, 50, tid=9, correlation=3),
        allocation("aten::empty", 512, at=15, held=700, total_allocated=512, total_reserved=1_024),
        allocation("cann::MatMul", 100, at=120, total_reserved=1_024),
        allocation("cann::Late", 10, at=151),
        sample("APP", 30, 9_999),
        sample("PTA", 5_000, 10_000, total_allocated=700),
    )
    columns = "operator_name, allocation_count, allocated_bytes, held_duration_ns"
    assert house.rows(f"select {columns} from marts.memory where step is null order by 1") == [
        ("aten::empty", 1, 512, 700),
        ("aten::mm", 1, 100, None),
        ("cann::Late", 1, 10, None),
    ]
    peaks = "select step, peak_allocated_bytes, peak_reserved_bytes, allocation_count from marts.memory_peak order by 1"
    assert house.rows(peaks) == [(1, 512, 9_999, 3), (None, 700, 10_000, 3)]
    samples = "select component, step from intermediate.int_memory_sample order by time_ns"
    assert house.rows(samples) == [("APP", 1), ("PTA", None)]


def test_an_allocation_or_a_sample_after_the_end_of_a_step_is_of_none():
    # steps   ├── 1 ──┤   ├── 2 ──┤
    #         0      100 150      250
    times = {0: 1, 99: 1, 100: None, 149: None, 150: 2, 249: 2, 250: None}
    house = views(
        step(1, 0, 100),
        step(2, 150, 100),
        [allocation("aten::mm", 8, at=at) for at in times],
        [sample("APP", at, 64) for at in times],
    )
    assert house.pairs("select time_ns, step from intermediate.int_allocation") == times
    assert house.pairs("select time_ns, step from intermediate.int_memory_sample") == times
    assert house.rows("select distinct device from intermediate.int_memory_sample") == [(0,)]


def test_memory_is_held_as_recorded_else_until_its_release_and_what_has_no_size_is_no_allocation():
    house = views(
        allocation("a", 8, at=10, held=5, released_at_ns=90),
        allocation("b", 8, at=10, released_at_ns=90),
        allocation("c", 8, at=10),
        allocation("d", 0, at=10),
        allocation("e", -8, at=10),
        allocation("f", 8, at=None),
    )
    held = "select operator_name, held_ns from intermediate.int_allocation"
    assert house.pairs(held) == {"a": 5, "b": 80, "c": None}


def test_work_dequeued_at_the_end_of_another_belongs_to_the_one_that_began():
    # dequeued  ├─ of a ─┤├─ of b ─┤          an allocation at the end of one, at the end of both
    house = views(
        op("a", 0, 10),
        event("enqueue", "Enqueue", 5, 1, correlation=1),
        op("b", 20, 10),
        event("enqueue", "Enqueue", 25, 1, correlation=2),
        event("dequeue", "Dequeue@A", 100, 50, tid=9, correlation=1),
        event("dequeue", "Dequeue@B", 150, 50, tid=9, correlation=2),
        [allocation("cann::X", 8, at=at) for at in (100, 149, 150, 199, 200)],
    )
    assert house.pairs("select time_ns, operator_name from intermediate.int_allocation") == {
        100: "a",
        149: "a",
        150: "b",
        199: "b",
        200: "cann::X",
    }


def gpu(duration):
    return [
        op("aten::linear", 10, 20, input_shapes="[[8, 8], [8, 8], []]"),
        op("aten::addmm", 11, 15, input_shapes="[[], [8, 8], [8, 8]]"),
        launch("cudaLaunchKernel", 12, 3, correlation=1),
        kernel("gemm", 100, duration, correlation=1),
        memory(512, at=14),
    ]


def npu(duration):
    return [
        tracks(),
        op("aten::linear", 10, 20, input_shapes="8,8;\r\n8,8;\r\n"),
        op("Linear", 11, 15),
        device_flow(1, 11, 100),
        task("MatMul_1", 100, duration),
        detail("MatMul_1", "MatMulV2", 100, duration, accelerator_core="AI_CORE", input_shapes="8,1,8"),
        allocation("aten::linear", 512, at=14),
    ]


def test_numbered_collectives_of_two_runs_meet_at_their_kind():
    def run(first):
        return [
            tracks(),
            detail("MatMul_1", "MatMulV2", 0, 5, input_shapes="8,8"),
            [hcom(f"hcom_allReduce__{first}_{place}_1", 10 + 10 * place, 4 + place) for place in (0, 1)],
            hcom(f"hcom_allGather__{first}_2_1", 40, 3),
        ]

    house = views(base=run(538), new=run(868))
    compared = """
        select kernel_name, base_call_count, comparison_call_count, diff_total_duration_ns from marts.kernel_comparison
        where base_run_id = 'base' and comparison_run_id = 'new' and base_step is null and comparison_step is null
        order by kernel_name"""
    assert house.rows(compared) == [
        ("MatMulV2", 1, 1, 0),
        ("hcom_allGather_", 1, 1, 0),
        ("hcom_allReduce_", 2, 2, 0),
    ]
    named = "select kernel_name from marts.kernel where run_id = 'base' and step is null and kernel_type is null"
    assert len(house.rows(named)) == 3  # each under its own name


def test_the_outermost_function_that_names_itself_as_its_caller_is_a_root():
    house = views(
        python("<string>(1): <module>", 0, 90, 0, 0),
        python("nn.Module: Net_0", 5, 60, 1, 0),
        python("nn.Module: Linear_0", 10, 40, 2, 1),
        op("aten::linear", 20, 10),
        tracks(),
        device_flow(1, 25, 100),
        task("MatMul_1", 100, 7),
        detail("MatMul_1", "MatMulV2", 100, 7),
    )
    modules = "select module_name, device_self_duration_ns, call_stack from marts.module where step is null"
    assert house.pairs(modules) == {
        "/Net_0": (0, "<string>(1): <module>\nnn.Module: Net_0"),
        "/Net_0/Linear_0": (7, "<string>(1): <module>\nnn.Module: Net_0\nnn.Module: Linear_0"),
    }


def test_kernels_of_different_devices_meet_at_the_operator_and_its_shapes():
    house = views(g1=gpu(30), g2=gpu(40), n1=npu(70), n2=npu(80), host=[op("aten::add", 1, 1)])
    shapes = "select run_id, operator_name, operator_shapes from intermediate.int_framework_operator order by 1"
    assert house.rows(shapes) == [(run, "aten::linear", "8,8;8,8;") for run in ("g1", "g2", "n1", "n2")]
    main = "select run_id, main_kernel_name, total_duration_ns from marts.operator_kernel where step is null order by 1"
    assert house.rows(main) == [("g1", "gemm", 30), ("g2", "gemm", 40), ("n1", "MatMulV2", 70), ("n2", "MatMulV2", 80)]
    matched = "select base_run_id, comparison_run_id, matched_by from intermediate.int_kernel_match"
    pairs = {(base, comparison): by for base, comparison, by in house.rows(matched)}
    expected = {("g1", "g2"): "kernel", ("n1", "n2"): "type", ("g1", "n1"): "operator", ("n1", "g1"): "operator"}
    expected |= {("host", "n1"): "type", ("g1", "host"): "kernel", ("host", "host"): "kernel"}
    assert {pair: pairs[pair] for pair in expected} == expected
    columns = "kernel_name, input_shapes, base_total_duration_ns, comparison_total_duration_ns"

    def compared(view, base, comparison, columns=columns):
        where = f"base_run_id = '{base}' and comparison_run_id = '{comparison}'"
        scope = "base_step is null and comparison_step is null"
        return house.rows(f"select {columns} from marts.{view} where {where} and {scope}")

    assert compared("kernel_comparison", "g1", "n1") == [("aten::linear", "8,8;8,8;", 30, 70)]
    assert compared("kernel_comparison", "n1", "g1") == [("aten::linear", "8,8;8,8;", 70, 30)]
    assert compared("kernel_comparison", "n1", "n2") == [("MatMulV2", "8,1,8", 70, 80)]
    assert compared("kernel_comparison", "g1", "g2") == [("gemm", "[[], [8, 8], [8, 8]]", 30, 40)]
    types = "kernel_type, accelerator_core, base_total_duration_ns, comparison_total_duration_ns"
    assert compared("kernel_type_comparison", "n1", "n2", types) == [("MatMulV2", "AI_CORE", 70, 80)]
    assert compared("kernel_type_comparison", "g1", "n2", types) == [("aten::linear", None, 30, 80)]
    memories = "operator_name, base_allocated_bytes, comparison_allocated_bytes"
    assert ("aten::linear", None, 512) in compared("memory_comparison", "g1", "n1", memories)


def test_steps_are_those_of_launches_else_those_that_the_profiler_recorded():
    house = views(
        trace=[
            tracks(),
            step(19, 0, 100),
            step(20, 100, 100),
            op("aten::mm", 10, 5),
            device_flow(7, 10, 150),
            task("MatMul_1", 150, 10),
            detail("MatMul_1", "MatMulV2", 150, 10, step=20),
        ],
        rows=[about(rank=1), detail("a", "A", 0, 5, step=19), detail("b", "B", 3, 7, step=20), detail("c", "C", 20, 1)],
    )
    steps = "select run_id, step, device_activity_count, device_duration_ns from marts.step order by 1, 2"
    assert house.rows(steps) == [("rows", 19, 1, 5), ("rows", 20, 1, 7), ("trace", 19, 1, 10), ("trace", 20, 0, 0)]


def test_a_collective_is_on_no_stream_though_its_track_may_have_the_number_of_one():
    house = views(
        tracks(("0", "1")),
        task("MatMul_1", 100, 50, stream=10),
        hcom("hcom_allReduce__1", 120, 100, group=1),
        detail("MatMul_1", "MatMulV2", 100, 50),
    )
    found = "select activity_name, stream, is_suspect from intermediate.int_device_activity order by start_ns"
    assert house.rows(found) == [("MatMul_1", 10, False), ("hcom_allReduce__1", None, False)]


def test_activities_of_a_device_lie_where_their_tasks_do_and_flows_arrive_there():
    house = views(
        tracks(),
        device_flow(5, 10, 100),
        task("MatMul_1", 100, 31, stream=4),
        task("MEMCPY_ASYNC", 150, 5, stream=4),
        detail("MatMul_1", "MatMulV2", 100, 30, stream=None),
    )
    activities = (
        "select activity_kind, activity_name, kernel_type, stream, flow_index from intermediate.int_npu_activity"
    )
    (departed,) = house.one("select event_index from staging.stg_device_flow where not is_arrival")
    assert house.rows(f"{activities} order by 1") == [
        ("kernel", "MatMul_1", "MatMulV2", 4, departed),
        ("memcpy", "MEMCPY_ASYNC", None, 4, None),
    ]
    assert house.one("select pid, time_ns, flow_index from intermediate.int_device_arrival") == (
        "hardware",
        100,
        departed,
    )
