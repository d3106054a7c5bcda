"""What holds for every view of the catalog, whatever it is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from pipeline.alignment.function import install_alignment
from pipeline.catalog.install import install_partitions
from pipeline.schema import RAW_TABLES
from pipeline.warehouse.derivation import PART, derive
from pipeline.warehouse.views import new_database
from tests.support.events import (
    about,
    allocation,
    analysed,
    annotation,
    collective,
    detail,
    device_flow,
    event,
    framework,
    gpu_annotation,
    gpu_step,
    hcom,
    kernel,
    launch,
    memcpy,
    memory,
    memset,
    metadata,
    on_track,
    op,
    overlap,
    plane_task,
    problem,
    sample,
    statistic,
    step,
    sync,
    task,
    tracks,
)
from tests.support.views import Views, catalog, raw_tables, views

VIEWS = list(catalog().views)


def busy(rank, *, slower=0, cut=False):
    """A rank of a job with something of everything, and of every kind of trouble."""
    events = [about(label="job", rank=rank, world_size=2, base_time_ns=1000 + rank, device_name="GPU")]
    for number in range(1, 4):
        at = number * 10_000
        events += [
            step(number, at, 9_000),
            gpu_step(number, at + 500, 9_000),
            annotation("forward", at + 10, 3_000),
            op("aten::linear", at + 20, 1_000, input_shapes="[[8]]", input_types='["float"]', sequence_number=number),
            op("aten::mm", at + 30, 900, input_shapes="[[8, 8]]", external_id=number),
            launch("cudaLaunchKernel", at + 40, 5, correlation=at + 1),
            launch("cudaLaunchKernel", at + 50, 5, correlation=at + 2),
            op("MmBackward0", at + 20, 900, tid=2, forward_thread=1),
            op("AddBackward0", at + 930, 9, tid=2, forward_thread=1, sequence_number=number),
            launch("cudaLaunchKernel", at + 60, 5, correlation=at + 3, tid=2),
            launch("cudaGraphLaunch", at + 2_000, 5, correlation=at + 4),
            launch("cudaMemcpyAsync", at + 2_100, 5, correlation=at + 5),
            op("record_param_comms", at + 2_150, 40, args={"Collective name": "broadcast"}),
            launch("cudaLaunchKernel", at + 2_160, 5, correlation=at + 7),
            kernel("ring", at + 2_700, 20, stream=9, correlation=at + 7),
            launch("cudaLaunchKernel", at + 3_500, 5, correlation=at + 6),
            kernel("gemm", at + 600, 300 + slower, correlation=at + 1),
            kernel("flash_fwd_kernel", at + 700, 300, stream=8, correlation=at + 2),
            kernel("conv_dgrad", at + 1_100, 300, stream=8, correlation=at + 3),
            kernel("elementwise", at + 2_200, 50, correlation=at + 4),
            kernel("mystery", at + 2_260, 50, correlation=at + 4, external_id=number),
            memcpy(at + 2_400, 100, correlation=at + 5, bytes=64),
            memset(at + 2_600, 10, bytes=64),
            collective("allreduce", at + 800, 900 + rank, sent=8, received=8, seq=number),
            kernel("ncclKernel_Broadcast", at + 2_700, 90, stream=20),
            kernel("__amd_rocclr_copyBuffer", at + 2_800, 90, stream=20),
            sync("Stream Sync", at + 4_000, 10),
            gpu_annotation("forward", at + 500, 2_000),
            memory(512, at=at + 35, address=number, allocated=512, reserved=2048),
            memory(256, at=at + 36, address=9, allocated=768, reserved=2048),
            memory(-512, at=at + 5_000, address=number, allocated=256, reserved=4096),
            memory(-512, at=at + 5_001, address=100 + number, allocated=0, reserved=4096),
            event("python_function", "nn.Module: Linear_0", at, 100),
            event("fwdbwd", "fwdbwd", at + 20, None, phase="s", flow_id=str(number)),
            kernel("told by a flow", at + 3_800, 10),
            event("flows", "launch", at + 3_502, None, phase="s", flow_id=str(number)),
            event("flows", "launch", at + 3_800, None, phase="f", flow_id=str(number), pid=0, tid=7),
            event("fwdbwd", "fwdbwd", at + 20, None, phase="f", flow_id=str(number), tid="2"),
        ]
        if not (cut and number == 3):
            events.append(kernel("gemm", at + 3_600, 100, correlation=at + 6))
    events += [
        kernel("gemm", 12_000, 500, device=1),
        kernel("overlapping", 12_100, 100, device=1),
        kernel("no duration", 12_000, None),
        kernel("negative", 12_000, -3),
        kernel("zero", 0, 0),
        op("after", 60_000, 10),
        op("lost", 60_020, None),
        problem("text_repaired", 2, 5, "a byte"),
        ("trace_metadata", {"key": "tracemill.flow_category", "value": "flows"}),
        metadata("deviceProperties", [{"id": 0, "name": "GPU", "computeMajor": 8}, {"id": 1, "name": "GPU"}]),
        event(None, None, None, None),
        event("kernel", "begun and ended", 70_000, None, phase="B", pid=0, tid=7),
        event("kernel", None, 70_100, None, phase="E", pid=0, tid=7),
        event("kernel", "begun", 70_200, None, phase="B", pid=0, tid=7),
        event("unheard_of", "what?", 70_300, 10),
    ]
    return events + [problem("truncated")] * cut


def ascend():
    """A rank on an Ascend device with something of everything."""
    events: list[Any] = [about(label="npu", rank=0, device_name="NPU"), *tracks(("0", "1"))]
    for number in (1, 2):
        at = number * 10_000
        events += [
            op(f"ProfilerStep#{number}", at, 9_000),
            op("aten::linear", at + 20, 1_000, input_shapes="8,8;\r\n8"),
            framework("Kernel::KernelLaunch::Default/net/MatMul-op1", at + 20, 900),
            event("enqueue", "Enqueue", at + 30, 10, correlation=number),
            event("dequeue", "Dequeue@MatMul", at + 60, 50, tid=9, correlation=number),
            device_flow(at + 600, at + 20, at + 600),
            device_flow(at + 800, at + 40, at + 800, "hccl", 0),
            device_flow(at + 1_500, at + 20, at + 1_500),
            task("MatMulV2_1", at + 600, 300),
            task("MEMCPY_ASYNC", at + 1_500, 50, task_type="SDMA_SQE", bytes=64),
            task("EVENT_WAIT", at + 1_600, 50, task_type="EVENT_WAIT_SQE"),
            detail(
                "MatMulV2_1",
                "MatMulV2",
                at + 600,
                300,
                accelerator_core="AI_CORE",
                matrix_ns=200,
                step=number,
                device=0,
            ),
            detail(
                "Fused",
                "AllGatherMatmul",
                at + 2_000,
                90,
                accelerator_core="MIX_AIC",
                core_ns=60,
                step=number,
                device=0,
            ),
            hcom("hcom_allReduce__1_0", at + 800, 400, data_type="FP32", count=8),
            hcom("hcom_allGather__2_0", at + 1_000, 400, group=1, data_type="FP32", count=8),
            plane_task("Notify_Wait", at + 800, 50),
            plane_task("Memcpy", at + 850, 150, plane=1, size=64),
            overlap(0, at + 600, 300),
            overlap(1, at + 800, 600),
            overlap(2, at + 900, 500),
            overlap(3, at + 1_400, 600),
            on_track("cann", "AscendCL@aclrtMalloc", at + 70, 20, args={"level": "acl"}),
            allocation("aten::linear", 512, at + 35, held=100, total_reserved=2_048),
            allocation("cann::MatMulV2", 256, at + 65, total_reserved=2_048),
            sample("PTA+GE", at + 40, 4_096, total_allocated=512),
        ]
    return [
        *events,
        statistic("op_statistic", "MatMulV2", "AI_CORE", 2, 600),
        statistic("api_statistic", "aclrtMalloc", "acl", 2, 40),
        analysed("communication", "hcom_allReduce__1_0", process_group="77", step="1", kind="collective"),
        analysed("bandwidth", "hcom_allReduce__1_0", transport="SDMA", bytes=64, transit_ns=100, step="1"),
        metadata("config", {"experimental_config": {"_profiler_level": "Level1"}}),
        metadata("parallel_group_info", {"0": {"group_name": "dp", "global_ranks": [0, 1]}}),
    ]


RUNS = {
    "r0": busy(0),
    "r1": busy(1),
    "other": [about(label="other"), *busy(0, slower=40, cut=True)[1:]],
    "npu": ascend(),
    "empty": [],
}


@pytest.fixture(scope="module")
def house():
    return views(**RUNS)


@pytest.fixture(scope="module")
def alone():
    return views(r0=RUNS["r0"])


@pytest.fixture(scope="module")
def nothing():
    return Views({})


@pytest.fixture(scope="module")
def one_event():
    return views(kernel("gemm", 10, 5))


@pytest.fixture(scope="module")
def one_run():
    return views(run=[])


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_warehouse_gives_no_rows(nothing, view):
    assert nothing.rows(f"select * from {view}") == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_trace_without_events_and_one_of_one_event_can_be_asked(one_run, one_event, view):
    one_run.rows(f"select * from {view}")
    one_event.rows(f"select * from {view} order by {catalog().views[view].order}")


@pytest.mark.parametrize("view", VIEWS)
def test_the_declared_grain_is_unique(house, view):
    grain = ", ".join(catalog().views[view].grain)
    assert house.rows(f"select {grain}, count(*) from {view} group by all having count(*) > 1") == []
    assert house.rows(f"select * from {view} limit 1"), "a trace with something of everything has rows"


@pytest.mark.parametrize("view", VIEWS)
def test_the_declared_order_can_be_used_and_columns_are_as_declared(house, view):
    declared = catalog().views[view]
    house.rows(f"select * from {view} order by {declared.order}")
    assert [column[0] for column in house.connection.description] == [column.name for column in declared.columns]


# Numbers among the runs that there are.
NUMBERS = {"run_number", "thread", "position"}
OF_MANY_RUNS = ("intermediate.int_collective_match", "marts.collective_skew", "marts.rank_clock")
OF_ONE_RUN = [
    name for name, view in catalog().views.items() if view.columns[0].name == "run_id" and name not in OF_MANY_RUNS
]


@pytest.mark.parametrize("view", OF_ONE_RUN)
def test_a_run_has_the_same_rows_alone_and_beside_others(house, alone, view):
    columns = ", ".join(column.name for column in catalog().views[view].columns if column.name not in NUMBERS)
    together = f"select {columns} from {view} where run_id = 'r0' order by all"
    assert house.rows(together) == alone.rows(together)


DURATIONS = {
    name: [
        column.name for column in view.columns if column.type == "duration_ns" and not column.name.startswith("diff_")
    ]
    for name, view in catalog().views.items()
    if not name.endswith(("_activity", "stg_event"))  # which have what is quarantined or left out as it is
}


@pytest.mark.parametrize("view", [name for name, columns in DURATIONS.items() if columns])
def test_no_duration_is_below_zero(house, view):
    negative = " or ".join(f"{column} < 0" for column in DURATIONS[view])
    assert house.rows(f"select * from {view} where {negative}") == []


def test_every_view_is_named_in_a_test():
    """By its whole name, in a file about something."""
    own = Path(__file__)
    tests = "\n".join(path.read_text(encoding="utf-8") for path in own.parent.rglob("test_*.py") if path != own)
    named = set(re.findall(r"\b(?:staging|intermediate|marts)\.[a-z_]+", tests)) | {
        f"marts.{view}" for view in re.findall(r"\b([a-z_]+_comparison)\b", tests)
    }
    assert [name for name in VIEWS if name not in named] == []


def test_views_over_parquet_answer_what_these_tests_see(house, tmp_path):
    """The harness computes tables in memory; a warehouse has views over Parquet, some of them kept per run."""
    partitions = {f"raw.{table}": [] for table in RAW_TABLES} | {view.qualified: [] for view in catalog().materialized}
    for run_id, events in RUNS.items():
        own = {}
        for table, rows in raw_tables({run_id: events}).items():
            own[f"raw.{table}"] = [_written(tmp_path / "raw", table, run_id, rows.drop_columns("run_id"))]
        targets = {
            view.qualified: tmp_path / "derived" / view.name / f"run_id={run_id}" for view in catalog().materialized
        }
        database = tmp_path / f"{run_id}.duckdb"
        new_database(database, catalog(), database)
        derive(database, catalog(), own, targets, None, 1)
        own |= {name: [target / PART] for name, target in targets.items()}
        for name, files in own.items():
            partitions[name] += files

    whole = tmp_path / "whole.duckdb"
    new_database(whole, catalog(), whole)
    with duckdb.connect(str(whole), config={"threads": 1}) as connection:
        install_alignment(connection)
        install_partitions(connection, catalog(), partitions, {})
        for view in catalog().views.values():
            if view.is_comparison:
                continue  # of every two runs; they read nothing but views that are here
            sql = f"select * from {view.qualified} order by all"
            assert connection.execute(sql).fetchall() == house.rows(sql), view.name


def _written(folder, table, run_id, rows):
    path = folder / table / f"run_id={run_id}" / "part-0000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(rows, path)
    return path
