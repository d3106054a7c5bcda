"""Files of Ascend profilers: variants of columns, hazards of CSV, damaged databases, and the real samples."""

from __future__ import annotations

import json
import sqlite3
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from fixtures.ascend import Execution, write_database
from pipeline.errors import InputError
from pipeline.extract.ascend import communication, profiler_info
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend.columns import device, mebibytes, microseconds, shapes, text, whole
from pipeline.extract.ascend.tables import kernel_details, memory_record
from pipeline.extract.filename import label_of, rank_of
from pipeline.extract.report import Report
from pipeline.extract.source import find_sources, format_of
from tests.asking import rows
from tests.shared import SHARED, needs_shared, needs_time

SAMPLES = SHARED / "npu"


def read(module, path, content):
    """(rows of the table, report) of a file with that content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = Report()
    return [row for _, batch in module.extract(path, report) for row in batch.to_pylist()], report


KERNELS = {
    "level0": "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
    "50,MatMul_1,N/A,N/A,1736405443881410.320\t,50.621,0,8\n",
    "level1": "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
    "Duration(us),Wait Time(us),Block Num,Input Shapes,aic_mac_time(us),aiv_vec_time(us),New Column\n"
    "50,4,4294967295,11,2,MatMul_1,MatMulV2,dynamic,AI_CORE,1736405443881410.320\t,50.621,0,8,"
    '"""8,8;8,8""",1.5,N/A,kept\n',
    "910a": "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,mac_time(us),"
    "vec_time(us)\n"
    "50,MatMul_1,MatMulV2,AI_CORE,1736405443881410.320,50.621,0,8,1.5,0.25\n",
    "mindspore": "Step ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
    "50,Default/MatMul-op1,MatMulV2,AI_CORE,1736405443881410.320,50.621,0,8\n",
    "op_summary": "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),"
    "Block Dim\n"
    "4,MatMul_1,MatMulV2,AI_CORE,1736405443881410.320\t,50.621,0,8\n",
}


@pytest.mark.parametrize("variant", list(KERNELS))
def test_every_variant_of_kernel_details_gives_the_same_columns(tmp_path, variant):
    path = tmp_path / "kernel_details.csv"
    ((row,), report) = read(kernel_details, path, KERNELS[variant])
    assert format_of(path) is kernel_details
    assert (row["start_ns"], row["duration_ns"], row["wait_ns"], row["block_count"]) == (
        1736405443881410320,
        50621,
        0,
        8,
    )
    assert row["step"] == (None if variant == "op_summary" else 50)
    assert row["kernel_type"] == (None if variant == "level0" else "MatMulV2")
    assert row["device"] == (4 if variant in ("level1", "op_summary") else None)
    assert row["matrix_ns"] == (1500 if variant in ("level1", "910a") else None)
    assert row["vector_ns"] == (250 if variant == "910a" else None)
    assert row["input_shapes"] == ("8,8;8,8" if variant == "level1" else None)
    known = {"Model ID": "4294967295", "OP State": "dynamic", "New Column": "kept"}
    assert (json.loads(row["args"]) if row["args"] else None) == (known if variant == "level1" else None)
    assert report.problems == {}


def test_cells_with_line_breaks_are_read_and_rows_with_other_cells_dropped_and_counted(tmp_path):
    path = tmp_path / "kernel_details.csv"
    header = "Name,Type,Accelerator Core,Duration(us)\r\n"
    found, report = read(kernel_details, path, header + '"a\r\nb","x ""y""",c,1\r\ntoo,few\r\nd,e,f,2\r\n')
    assert [(row["kernel_name"], row["kernel_type"]) for row in found] == [("a\r\nb", 'x "y"'), ("d", "e")]
    assert report.problems["row_dropped"].count == 1
    assert "2 cells, not 4" in report.problems["row_dropped"].detail


def test_bad_bytes_are_mended_and_a_cut_file_and_one_without_rows_are_read(tmp_path):
    path = tmp_path / "kernel_details.csv"
    header = b"\xef\xbb\xbfName,Type,Accelerator Core,Duration(us)\n"
    found, report = read(kernel_details, path, header + b"caf\xe9,t,c,1\n")
    assert [row["kernel_name"] for row in found] == ["caf\ufffd"]
    assert report.problems["text_repaired"].count == 1
    found, report = read(kernel_details, path, header + b"a\xff,b\xfe,c,1\nd\xff\xfd,e,f,2\ng,h,i,3\n")
    assert [row["kernel_name"][0] for row in found] == ["a", "d", "g"]
    assert report.problems["text_repaired"].count == 3  # cells, not columns or rows
    assert read(kernel_details, path, header)[0] == []
    _, cut = read(kernel_details, path, header + b'a,b,c,1\n"unfinished')
    assert set(cut.problems) & {"truncated", "row_dropped"}
    with pytest.raises(InputError, match="not a table"):
        read(kernel_details, path, b"nothing\n")


@given(st.integers(-(10**17), 10**18))
def test_a_time_with_three_decimals_is_exact(nanoseconds):
    written = f"{Decimal(nanoseconds) / 1000:f}\t"
    assert microseconds(written) == nanoseconds


@given(st.decimals(min_value=0, max_value=10**6, places=15))
def test_sizes_are_rounded_once(size):
    assert mebibytes(str(size)) == int((size * (1 << 20)).to_integral_value(ROUND_HALF_UP))


@pytest.mark.parametrize(
    ("read_cell", "cell", "value"),
    [(text, " N/A ", None), (text, "", None), (text, "a\t", "a"), (whole, "N/A", None), (whole, "1e400", None),
     (whole, "NaN", None), (whole, 2.5, 3), (whole, True, 1), (shapes, '"8,8"', "8,8"), (shapes, '""', None),
     (microseconds, "1.69512E+15", 1_695_120_000_000_000_000), (device, "NPU:4", 4), (device, "host", None),
     (device, "4", 4)],
)  # fmt: skip
def test_cells(read_cell, cell, value):
    assert read_cell(cell) == value


def test_communication_is_read_by_operation_transport_and_link(tmp_path):
    path = tmp_path / "communication.json"
    times = {"Start Timestamp(us)": 1.5, "Elapse Time(ms)": 2.5, "Wait Time(ms)": 0.25}
    bandwidth = {"RDMA": {"Transit Size(MB)": 2.064384, "Transit Time(ms)": 0.5, "Size Distribution": {}}}
    operation = {"Communication Time Info": times, "Communication Bandwidth Info": bandwidth}
    content = {"step50": {"p2p": {}, "collective": {"hcom_allReduce__1@77": operation, "Total Op Info": operation}}}
    found, _ = read(communication, path, json.dumps(content))
    assert format_of(path) is communication
    one, two = found
    assert (one["step"], one["kind"], one["name"], one["process_group"]) == (
        "50",
        "collective",
        "hcom_allReduce__1",
        "77",
    )
    assert (one["start_ns"], one["elapsed_ns"], one["wait_ns"], one["transit_ns"]) == (1500, 2_500_000, 250_000, None)
    assert (two["transport"], two["bytes"], two["transit_ns"]) == ("RDMA", 2_064_384, 500_000)
    matrix = {"step": {"collective": {"allreduce-top1@77": {"0-2": {"Transport Type": "HCCS", "Transit Size(MB)": 1}}}}}
    ((link,), _) = read(communication, path, json.dumps(matrix))
    assert (link["step"], link["source_rank"], link["target_rank"], link["bytes"]) == (None, 0, 2, 1_000_000)
    assert read(communication, path, json.dumps(content)[:-30])[1].problems["truncated"].count == 1
    assert read(communication, path, '{"step1": {"collective": [1], "p2p": null}, "x": 3}')[0] == []


def test_what_is_known_about_a_recording(tmp_path):
    path = tmp_path / "profiler_info_2.json"
    found, report = read(profiler_info, path, '{"config": {"common_config": {}}, "rank_id": "2"}')
    assert (report.rank, [row["key"] for row in found]) == (2, ["config", "rank_id"])
    metadata = '{"distributed_args": {"rank": 3, "world_size": 8}, "ENV_VARIABLES": {}}'
    _, report = read(profiler_info, tmp_path / "profiler_metadata.json", metadata)
    assert (report.rank, report.world_size) == (3, 8)


def test_a_database_is_recognised_by_its_bytes_and_a_damaged_one_is_an_error(tmp_path):
    path = write_database(Execution(), tmp_path) / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    assert format_of(path) is ascend_database
    (run,) = pipeline.ingest(path, warehouse=tmp_path / "w")
    assert (run.run_id, run.problems) == ("ascend_pytorch_profiler_0", ())
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * 20_000)
    with pytest.raises(InputError, match="database"):
        pipeline.ingest(path, warehouse=tmp_path / "w")
    path.write_bytes(content)
    with sqlite3.connect(path) as connection:
        connection.execute("update PYTORCH_API set globalTid = 'somewhere'")
    connection.close()
    with pytest.raises(InputError, match="not of the kind of its column"):
        pipeline.ingest(path, warehouse=tmp_path / "w")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table notes (id integer)")
    connection.close()
    with pytest.raises(InputError, match="without tables of an Ascend profiler"):
        pipeline.ingest(other, warehouse=tmp_path / "w")


def test_a_database_with_fewer_tables_and_columns_gives_what_it_has(tmp_path):
    path = tmp_path / "msmonitor_1_00000000000000000_-1.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            create table STRING_IDS (id integer primary key, value text);
            create table TASK (startNs integer, endNs integer, deviceId integer, connectionId integer,
                globalTaskId integer, taskType integer, streamId integer, taskId integer);
            create table COMPUTE_TASK_INFO (name integer, globalTaskId integer primary key, blockNum integer,
                taskType integer, opType integer);
            insert into STRING_IDS values (1, 'MatMul_1'), (2, 'MatMulV2'), (3, 'AI_CORE');
            insert into TASK values (100, 130, 3, 4294967295, 9, 3, 2, 1);
            insert into COMPUTE_TASK_INFO values (1, 9, 16, 3, 2);
            """
        )
    connection.close()
    found = [(table, row) for table, batch in ascend_database.extract(path, Report()) for row in batch.to_pylist()]
    ((_, kernel),) = [entry for entry in found if entry[0] == "kernel_detail"]
    assert (kernel["kernel_name"], kernel["block_count"], kernel["input_shapes"]) == ("MatMul_1", 16, None)
    (run,) = pipeline.ingest(path, warehouse=tmp_path / "w")
    assert rows(tmp_path / "w", "select device, duration_ns from marts.overall where metric = 'Computing Time'") == [
        {"device": 3, "duration_ns": 30}
    ]
    assert run.problems == ()


@pytest.mark.parametrize(
    ("name", "label", "rank"),
    [("rank0_ascend_pt", "rank0", 0), ("host_17_20240101_ascend_ms", "host_17_20240101", None),
     ("ascend_pytorch_profiler_3.db", "ascend_pytorch_profiler_3", None)],
)  # fmt: skip
def test_names_of_folders_and_databases(tmp_path, name, label, rank):
    assert (label_of(tmp_path / name), rank_of(tmp_path / name)) == (label, rank)


def test_a_folder_without_a_profile_is_an_error(tmp_path):
    (tmp_path / "ASCEND_PROFILER_OUTPUT").mkdir()
    (tmp_path / "ASCEND_PROFILER_OUTPUT" / "l2_cache.csv").write_text("Stream Id,Task Id,Hit Rate\n1,2,3\n")
    (tmp_path / "ASCEND_PROFILER_OUTPUT" / memory_record.NAME).mkdir()
    with pytest.raises(InputError, match="no trace in this folder"):
        find_sources(tmp_path)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A warehouse of every real recording of one model, by text (`text.…`) and by database (`database.…`)."""
    house = tmp_path_factory.mktemp("samples")
    for folder in sorted(SAMPLES.glob("*-alexnet-*")):
        for profile in sorted(folder.iterdir()):
            form = "database" if folder.name.endswith("-db") else "text"
            pipeline.ingest(profile, label=f"{form}.{folder.name}.{profile.name}", warehouse=house)
    return house


@needs_shared
@needs_time
def test_the_overlap_analysis_of_real_traces_agrees_with_their_activities(samples):
    checks = rows(samples, "select run_id, metric, difference_ns, agrees from marts.overlap_check")
    checks = [check for check in checks if check["run_id"].startswith("text.")]
    assert len(checks) == 4 * 5
    assert all(check["agrees"] and check["difference_ns"] <= 20 for check in checks)


@needs_shared
def test_a_real_recording_without_a_trace_gives_what_its_tables_have(tmp_path):
    pipeline.ingest(SAMPLES / "ascend910b-llm-level2-no-trace", label="llm", warehouse=tmp_path)
    types = (
        "select count(*) n, sum(total_duration_ns - recorded_duration_ns) d from marts.kernel_type where step is null"
    )
    assert rows(tmp_path, types) == [{"n": 46, "d": 0}]
    assert rows(tmp_path, "select step, device_activity_count from marts.step") == [
        {"step": 13, "device_activity_count": 2587}
    ]
    assert rows(tmp_path, "select count(*) n from marts.host_call") == [{"n": 0}]
    groups = "select count(distinct process_group) n from marts.communication where step is null"
    assert rows(tmp_path, groups) == [{"n": 7}]


@needs_shared
@needs_time
def test_modules_of_real_recordings_are_those_of_the_model_and_sum_to_the_device_total(samples):
    sums = """
        with total as (
            select run_id, step, sum(duration_ns) as total_ns
            from intermediate.int_device_activity
            where quarantine_reason is null
            group by grouping sets ((run_id), (run_id, step))
            having grouping(step) = 1 or step is not null
        )
        select run_id, total.step, any_value(total_ns) as total, sum(device_self_duration_ns) as modules,
            count(*) filter (starts_with(forward_name, '/') and device_self_duration_ns > 0) as busy,
            list(module_name order by module_name) as names
        from total join marts.module as module using (run_id)
        where total.step is not distinct from module.step
        group by run_id, total.step"""
    # The text of level 0 was recorded without stacks.
    found = [row for row in rows(samples, sums) if not row["run_id"].startswith("text.ascend910b-alexnet-level0")]
    assert len(found) == 2 * 5  # the run and its only step
    assert all(row["total"] == row["modules"] for row in found)
    assert {tuple(row["names"]) for row in found} == {tuple(found[0]["names"])}  # text and database, both devices
    assert "[ BACKWARD ]/DistributedDataParallel_0/AlexNet_0/Sequential_1/Linear_2" in found[0]["names"]
    assert all(row["busy"] > 35 for row in found)
    stacks = (
        "select count(*) as n from marts.module where starts_with(module_name, '/') and call_stack not like '%main%'"
    )
    assert rows(samples, stacks) == [{"n": 0}]
    sides = ("text.ascend910a-alexnet-level1.rank0_ascend_pt", "database.ascend910b-alexnet-level1-db.rank1_ascend_pt")
    compared = pipeline.compare(*sides, warehouse=samples, choice=pipeline.Choice(only=["module"])).tables[
        "module_comparison"
    ]
    totals = [row for row in compared.rows.to_pylist() if row["operator_name"] == "[ TOTAL ]"]
    assert len(totals) > 50
    assert all(row["base_module_name"] == row["comparison_module_name"] for row in totals)


@needs_shared
@needs_time
def test_collectives_of_real_recordings_meet_in_the_comparison_of_kernels(samples):
    sides = [f"text.{name}.rank0_ascend_pt" for name in ("ascend910a-alexnet-level1", "ascend910b-alexnet-level0")]
    kernels = (
        pipeline.compare(*sides, warehouse=samples, choice=pipeline.Choice(only=["kernel"]))
        .tables["kernel_comparison"]
        .rows.to_pylist()
    )
    collectives = [
        (row["kernel_name"], row["base_call_count"], row["comparison_call_count"])
        for row in kernels
        if row["kernel_class"] == "Communication"
    ]
    assert collectives == [("hcom_allReduce_", 4, 4)]
