"""Files of Ascend profilers: variants of columns, hazards of CSV, damaged databases, and the real samples."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from fixtures.ascend import Execution, write_database
from pipeline.errors import InputError
from pipeline.extract import bytestream
from pipeline.extract.ascend import communication, csvfile, profiler_info
from pipeline.extract.ascend import database as ascend_database
from pipeline.extract.ascend import tables as ascend_csv
from pipeline.extract.ascend.columns import device, mebibytes, microseconds, shapes, text, whole
from pipeline.extract.ascend.tables import kernel_details, memory_record
from pipeline.extract.filename import label_of, rank_of
from pipeline.extract.recognition import format_of
from pipeline.extract.report import Report
from pipeline.extract.source import find_sources
from tests.support.asking import rows
from tests.support.paths import SHARED, needs_shared, needs_time

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


# Tables with a value of its own in each cell, and the columns that they become; the rest of a raw row is not told.
SUMS = {"Count": "3", "Total Time(us)": "7.5", "Avg Time(us)": "2.5", "Min Time(us)": "1.25", "Max Time(us)": "4.0005"}
NANOSECONDS = {"call_count": 3, "total_ns": 7_500, "average_ns": 2_500, "min_ns": 1_250, "max_ns": 4_001}
COLUMNS = [
    (
        ascend_csv.kernel_details,
        {
            "Step Id": "5", "Device_id": "4", "Task ID": "6", "Stream ID": "7", "Name": "MatMul_1", "Type": "MatMulV2",
            "Accelerator Core": "AI_CORE", "Start Time(us)": "1000.001", "Duration(us)": "20.5",
            "Wait Time(us)": "0.75", "Block Dim": "8", "Input Shapes": '"8,8;8,8"', "Input Data Types": "DT_BF16",
            "Input Formats": "ND", "Output Shapes": '"8,9"', "Output Data Types": "FLOAT", "Output Formats": "NZ",
            "aicore_time(us)": "9.5", "aic_mac_time(us)": "3.25", "aiv_vec_time(us)": "1.125",
        },
        {
            "step": 5, "device": 4, "task_id": 6, "stream": 7, "kernel_name": "MatMul_1", "kernel_type": "MatMulV2",
            "accelerator_core": "AI_CORE", "start_ns": 1_000_001, "duration_ns": 20_500, "wait_ns": 750,
            "block_count": 8, "input_shapes": "8,8;8,8", "input_types": "DT_BF16", "input_formats": "ND",
            "output_shapes": "8,9", "output_types": "FLOAT", "output_formats": "NZ", "core_ns": 9_500,
            "matrix_ns": 3_250, "vector_ns": 1_125,
        },
    ),
    (
        ascend_csv.kernel_details,
        {"Device ID": "12", "Op Name": "a", "OP Type": "b", "Task Type": "c", "Task Start Time": "2.5",
         "Task Duration(us)": "0.0005", "Task Wait Time(us)": "3", "Block Num": "1"},
        {"device": 12, "kernel_name": "a", "kernel_type": "b", "accelerator_core": "c", "start_ns": 2_500,
         "duration_ns": 1, "wait_ns": 3_000, "block_count": 1},
    ),
    (
        ascend_csv.task_time,
        {"Device_id": "3", "kernel_name": "aclnnAdd_12", "kernel_type": "AI_CORE", "stream_id": "4", "task_id": "5",
         "task_time(us)": "1.5", "task_start(us)": "10", "task_stop(us)": "11.5"},
        {"device": 3, "kernel_name": "aclnnAdd", "accelerator_core": "AI_CORE", "stream": 4, "task_id": 5,
         "duration_ns": 1_500, "start_ns": 10_000},
    ),
    (
        ascend_csv.op_statistic,
        {"OP Type": "MatMulV2", "Core Type": "AI_CORE"} | SUMS,
        {"source": "op_statistic", "name": "MatMulV2", "category": "AI_CORE"} | NANOSECONDS,
    ),
    (
        ascend_csv.communication_statistic,
        {"OP Type": "hcom_allReduce_"} | SUMS,
        {"source": "communication_statistic", "name": "hcom_allReduce_"} | NANOSECONDS,
    ),
    (
        ascend_csv.api_statistic,
        {"Level": "node", "API Name": "launch", "Time(us)": "7.5", "Count": "3", "Avg(us)": "2.5", "Min(us)": "1.25",
         "Max(us)": "4.0005"},
        {"source": "api_statistic", "name": "launch", "category": "node"} | NANOSECONDS,
    ),
    (
        ascend_csv.step_trace,
        {"Iteration ID": "2", "Iteration End(us)": "90", "Iteration Time(us)": "8.5"},
        {"source": "step_trace", "step": 2, "total_ns": 8_500},
    ),
    (
        ascend_csv.step_trace_time,
        {"Step": "9", "Computing": "1", "Communication(Not Overlapped)": "2", "Free": "3", "Stage": "6.5"},
        {"source": "step_trace_time", "step": 9, "total_ns": 6_500},
    ),
    (
        ascend_csv.operator_details,
        {"Name": "aten::mm", "Input Shapes": "8,8", "Device Total Duration(us)": "1.5"},
        {"source": "operator_details", "name": "aten::mm", "total_ns": 1_500},
    ),
    (
        ascend_csv.operator_memory,
        {"Name": "aten::empty", "Size(KB)": "1.5", "Allocation Time(us)": "10", "Release Time(us)": "12.5",
         "Duration(us)": "2.5", "Allocation Total Allocated(MB)": "1.5", "Allocation Total Reserved(MB)": "2",
         "Stream Ptr": "99", "Device Type": "NPU:10"},
        {"operator_name": "aten::empty", "bytes": 1_536, "allocated_at_ns": 10_000, "released_at_ns": 12_500,
         "held_ns": 2_500, "total_allocated": 3 << 19, "total_reserved": 2 << 20, "stream": 99, "device": 10},
    ),
    (
        ascend_csv.operator_memory,
        {"Name": "a", "Size(KB)": "1", "Allocation Time(us)": "10", "Allocation Total Allocated(KB)": "1.5",
         "Allocation Total Reserved(KB)": "2"},
        {"operator_name": "a", "bytes": 1_024, "allocated_at_ns": 10_000, "total_allocated": 1_536,
         "total_reserved": 2_048},
    ),
    (
        ascend_csv.memory_record,
        {"Component": "APP", "Timestamp(us)": "10.5", "Total Allocated(MB)": "1.5", "Total Reserved(MB)": "2",
         "Total Active(MB)": "1", "Stream Ptr": "1", "Device Type": "NPU:1"},
        {"component": "APP", "time_ns": 10_500, "total_allocated": 3 << 19, "total_reserved": 2 << 20, "device": 1},
    ),
    (
        ascend_csv.memory_record,  # active without a stream: MindSpore's, whose MB has 1,000 KB
        {"Component": "APP", "Timestamp(us)": "10.5", "Total Allocated(MB)": "1.5", "Total Reserved(MB)": "2",
         "Total Active(MB)": "1", "Device Type": "NPU:1"},
        {"component": "APP", "time_ns": 10_500, "total_allocated": 1_536_000, "total_reserved": 2_048_000,
         "device": 1},
    ),
    (
        ascend_csv.memory_record,
        {"Component": "APP", "Timestamp(us)": "1", "Total Allocated(KB)": "1.5", "Total Reserved(KB)": "2",
         "Device_id": "0"},
        {"component": "APP", "time_ns": 1_000, "total_allocated": 1_536, "total_reserved": 2_048, "device": 0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("table", "cells", "expected"), COLUMNS, ids=lambda value: getattr(value, "NAME", ""))
def test_every_column_of_a_table_comes_from_its_own_in_its_unit(tmp_path, table, cells, expected):
    path = tmp_path / "table.csv"
    lines = io.StringIO()
    csv.writer(lines).writerows([cells.keys(), cells.values()])
    ((row,), report) = read(table, path, lines.getvalue())
    assert format_of(path) is table
    known = {name: value for name, value in row.items() if value is not None and name not in ("args", "event_index")}
    assert known == expected
    assert report.problems == {}


def test_columns_of_one_name_are_both_kept_and_rows_are_numbered_behind_what_came_before(tmp_path):
    path = tmp_path / "kernel_details.csv"
    path.write_text("Name,Type,Accelerator Core,Duration(us),Hits,Hits\na,b,c,1,5,6\nd,e,f,1,7,8\n")
    report = Report(event_count=10, dropped_count=2)
    ((_, batch),) = kernel_details.extract(path, report)
    found = batch.to_pylist()
    assert [row["event_index"] for row in found] == [12, 13]
    assert [sorted(json.loads(row["args"]).values()) for row in found] == [["5", "6"], ["7", "8"]]
    assert (report.event_count, report.next_index) == (12, 14)


def test_the_rest_of_a_table_that_cannot_be_read_belongs_to_its_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(csvfile, "BLOCK_BYTES", 256)
    monkeypatch.setattr(bytestream, "BLOCK_BYTES", 256)
    path = tmp_path / "kernel_details.csv"
    content = 'Name,Type,Accelerator Core,Duration(us)\na,b,c,1\n"' + "never closed " * 1_000
    reports = [read(kernel_details, path, content + end)[1] for end in ("one", "two")]
    assert all(report.problems["truncated"].count == 1 for report in reports)
    assert all(report.source_bytes == path.stat().st_size for report in reports)
    assert reports[0].content_hash != reports[1].content_hash


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


@pytest.mark.parametrize(
    ("cell", "value"),
    [("2.5", 3), ("3.5", 4), ("-2.5", -3), (2.4999, 2), ("9223372036854775807", (1 << 63) - 1),
     ("9223372036854775808", None), ("-9223372036854775808", -(1 << 63)), ("1e30", None), ("1e999999999", None)],
)  # fmt: skip
def test_numbers_are_rounded_half_away_from_zero_and_are_known_where_64_bits_hold_them(cell, value):
    assert whole(cell) == value


def test_communication_is_read_by_operation_transport_and_link(tmp_path):
    path = tmp_path / "communication.json"
    times = {"Start Timestamp(us)": 1.5, "Elapse Time(ms)": 2.5, "Wait Time(ms)": 0.25}
    bandwidth = {"RDMA": {"Transit Size(MB)": 2.064384, "Transit Time(ms)": 0.5, "Size Distribution": {}}}
    operation = {"Communication Time Info": times, "Communication Bandwidth Info": bandwidth}
    content = {"step50": {"p2p": {}, "collective": {"hcom_allReduce__1@77": operation, "Total Op Info": operation}}}
    found, _ = read(communication, path, json.dumps(content))
    assert format_of(path) is communication.FORMAT
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


def test_every_time_of_a_collective_comes_from_its_own_in_its_unit(tmp_path):
    times = {"Start Timestamp(us)": 1.5, "Elapse Time(ms)": 2.5, "Transit Time(ms)": 0.5, "Wait Time(ms)": 0.25,
             "Synchronization Time(ms)": 0.125, "Idle Time(ms)": 0.75}  # fmt: skip
    total = {"Communication Time Info": {"Elapse Time(ms)": 9}}
    content = {"Total Op Info": total, "hcom_send__1@7": {"Communication Time Info": times}}
    ((row,), _) = read(communication, tmp_path / "communication.json", json.dumps(content))
    assert {name: value for name, value in row.items() if value is not None} == {
        "event_index": 0, "source": "communication", "name": "hcom_send__1", "process_group": "7", "start_ns": 1_500,
        "elapsed_ns": 2_500_000, "transit_ns": 500_000, "wait_ns": 250_000, "synchronization_ns": 125_000,
        "idle_ns": 750_000,
    }  # fmt: skip


def test_what_is_known_about_a_recording(tmp_path):
    path = tmp_path / "profiler_info_2.json"
    found, report = read(profiler_info, path, '{"config": {"common_config": {}}, "rank_id": "2"}')
    assert (report.rank, [row["key"] for row in found]) == (2, ["config", "rank_id"])
    metadata = '{"distributed_args": {"rank": 3, "world_size": 8}, "ENV_VARIABLES": {}}'
    _, report = read(profiler_info, tmp_path / "profiler_metadata.json", metadata)
    assert (report.rank, report.world_size) == (3, 8)


def test_a_database_is_recognised_by_its_bytes_and_a_damaged_one_is_an_error(tmp_path):
    path = write_database(Execution(), tmp_path) / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    assert format_of(path) is ascend_database.FORMAT
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


def test_two_operators_of_a_connection_are_forward_and_backward_and_one_or_three_are_not(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            create table STRING_IDS (id integer primary key, value text);
            create table TASK (startNs integer, endNs integer, deviceId integer, connectionId integer,
                globalTaskId integer, taskType integer, streamId integer, taskId integer);
            create table CONNECTION_IDS (id integer, connectionId integer);
            create table PYTORCH_API (startNs integer, endNs integer, globalTid integer, connectionId integer,
                name integer, type integer, sequenceNumber integer, fwdThreadId integer, inputShapes integer,
                inputDtypes integer);
            insert into STRING_IDS values (1, 'aten::mm');
            """
        )
        # Connection 10 has one operator, 20 has two, which start in the other order, 30 has three, 40 launches a task.
        calls = [(10, 100), (20, 250), (20, 200), (30, 300), (30, 310), (30, 320), (40, 400), (40, 410)]
        for number, (link, start) in enumerate(calls):
            connection.execute("insert into CONNECTION_IDS values (?, ?)", (number, link))
            call = (start, start + 5, (7 << 32) + 90_000 + number, number)
            connection.execute("insert into PYTORCH_API values (?, ?, ?, ?, 1, 50001, 0, 0, null, null)", call)
        connection.execute("insert into TASK values (900, 930, 3, 40, 9, 1, 2, 1)")
    connection.close()
    batches = [batch.to_pylist() for table, batch in ascend_database.extract(path, Report()) if table == "event"]
    events = [event for batch in batches for event in batch]
    flows = [
        (event["category"], event["phase"], event["flow_id"], event["pid"], event["tid"], event["start_ns"])
        for event in events
        if event["category"] in ("fwdbwd", "async_npu") and event["pid"] == "7"
    ]
    assert sorted(flows) == [
        ("async_npu", "s", "40", "7", "90006", 400),
        ("async_npu", "s", "40", "7", "90007", 410),
        ("fwdbwd", "f", "20", "7", "90001", 250),
        ("fwdbwd", "s", "20", "7", "90002", 200),
    ]


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
    (tmp_path / "ASCEND_PROFILER_OUTPUT" / memory_record.name).mkdir()
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
