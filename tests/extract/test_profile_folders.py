"""Profile folders as they lie about, exports of msprof among them: what is read, and what is said of the rest."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3

import pytest

import pipeline
from fixtures.ascend import Execution, write_database, write_mindspore, write_text
from pipeline.errors import InputError, LeftOutWarning
from pipeline.extract.report import Report
from pipeline.extract.source import find_sources
from tests.support import traces
from tests.support.asking import overall, pairs, rows
from tests.support.events import task, tracks

SUMMARY = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim\n"
TASKS = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"


def summary(*kernels):
    return SUMMARY + "".join(
        f"3,{name},{kind},AI_CORE,{start}.5\t,{long}.25,0,8\n" for name, kind, start, long in kernels
    )


def trace(*tasks):
    events = [
        task(name, 1_000 * start + 500, 1_000 * length + 250, task_type=kind) for name, kind, start, length in tasks
    ]
    return traces.array_text([tracks(), *events])


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def sources(path, prefer="database"):
    return {source.name: [file.name for file in source.files] for source in find_sources(path, prefer).sources}


FIRST, SECOND = ("mm", "MatMulV2", 100, 40), ("add", "Add", 150, 10)


def test_slices_of_an_export_are_one_run_whatever_their_stamps(tmp_path):
    output = put(
        tmp_path / "PROF_000009_20260101_XYZ" / "mindstudio_profiler_output",
        msprof_slice_0_20260101000001__json=trace(("mm", "AI_CORE", 100, 40)),
        msprof_slice_10_20260101000009__json=trace(("copy", "SDMA_SQE", 300, 1)),
        msprof_slice_2_20260101000003__json=trace(("add", "AI_CORE", 150, 10)),
        op_summary_slice_0_20260101000002__csv=summary(FIRST),
        op_summary_slice_1_20260101000004__csv=summary(SECOND),
        op_statistic_20260101000005__csv="Device_id,OP Type,Core Type,Count,Total Time(us)\n3,Add,AI_CORE,1,10.25\n",
        README__txt="what these files are",
    )
    (files,) = sources(tmp_path).values()
    assert [name.split("_2026")[0] for name in files[:3]] == ["msprof_slice_0", "msprof_slice_2", "msprof_slice_10"]
    (run,) = pipeline.ingest(output, warehouse=tmp_path / "house")
    assert (run.label, run.note, run.problems) == ("PROF_000009_20260101_XYZ", None, ())
    assert overall(tmp_path / "house", run.run_id)["Computing Time"] == 50_500
    assert rows(tmp_path / "house", "select source_format from marts.run") == [{"source_format": "msprof_text"}]


def test_the_layout_of_2023_has_a_folder_for_each_device_and_repeats_its_timeline(tmp_path):
    root = tmp_path / "PROF_000001_20230101_AB"
    put(root / "device_0" / "timeline", msprof_0_1__json=trace(("mm", "AI_CORE", 100, 40)))
    put(root / "device_0" / "timeline", task_time_0_1__json=trace(("mm", "AI_CORE", 100, 40)))
    put(root / "device_0" / "timeline", hccl_0_1__json=trace(("hcom", "SDMA", 100, 40)))
    put(root / "device_0" / "summary", op_summary_0_1__csv=summary(FIRST), op_summary_0_2__csv=summary(SECOND))
    put(root / "host" / "timeline", msprof_1__json=trace(("mm", "AI_CORE", 100, 40)))
    put(root / "host" / "summary", api_statistic_1__csv="Level,API Name,Time(us),Count\nacl,aclrtMalloc,5.5,2\n")
    for path in (tmp_path, root, root / "device_0", root / "device_0" / "timeline"):
        assert sources(path) == {
            root.name: ["msprof_0_1.json", "op_summary_0_1.csv", "op_summary_0_2.csv", "api_statistic_1.csv"]
        }
    (source,) = find_sources(root).sources
    assert source.note and "hccl_0_1.json, task_time_0_1.json (msprof_*.json has what they show)" in source.note
    (run,) = pipeline.ingest(root, warehouse=tmp_path / "house")
    assert overall(tmp_path / "house", run.run_id)["Computing Time"] == 50_500
    assert pairs(tmp_path / "house", "select call_name, total_duration_ns from marts.cann_call") == {
        "aclrtMalloc": 5_500
    }


def test_each_process_and_device_of_a_group_is_a_run_of_its_own(tmp_path):
    group = tmp_path / "PROF_GROUP_000001_20260101"
    for name in ("PROF_000001_1_A", "PROF_000002_1_B"):
        put(group / name / "mindstudio_profiler_output", op_summary_20260101000000__csv=summary(FIRST))
    assert list(sources(group)) == ["PROF_000001_1_A", "PROF_000002_1_B"]
    put(group / "PROF_000003_1_C" / "device_0" / "data", raw="")
    (left,) = find_sources(group).left_out
    assert (left.path.name, "not exported" in left.reason) == ("PROF_000003_1_C", True)
    with pytest.raises(InputError, match="PROF_000003_1_C: not read: raw data that is not exported"):
        pipeline.ingest(group, warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))


def test_a_later_export_into_the_same_folder_counts_alone(tmp_path):
    put(
        tmp_path / "PROF_1" / "mindstudio_profiler_output",
        op_summary_20260101000000__csv=summary(FIRST),
        op_summary_20260102000000__csv=summary(FIRST, SECOND),
    )
    (source,) = find_sources(tmp_path).sources
    assert [file.name for file in source.files] == ["op_summary_20260102000000.csv"]
    assert source.note and "op_summary_20260101000000.csv (a later export is read)" in source.note


def test_tasks_alone_are_kernels_by_their_type_and_repeat_other_tables_else(tmp_path):
    tasks = TASKS + (
        "0,aclnnMm_12,AI_CORE,2,1,40.5,100.25\t,140.75\t\n0,N/A,EVENT_RECORD,2,2,1,140,141\n"
        "0,N/A,MEMCPY_ASYNC,2,3,5,150,155\n0,add,KERNEL_AIVEC,2,4,10,200,210\n0,mix_1,MIX_AIC,2,5,1,300,301\n"
    )
    output = put(tmp_path / "PROF_1" / "mindstudio_profiler_output", task_time_20260101000000__csv=tasks)
    pipeline.ingest(output.parent, warehouse=tmp_path / "house")
    kernels = "select kernel_name, total_duration_ns from marts.kernel where step is null"
    assert pairs(tmp_path / "house", kernels) == {"aclnnMm": 40_500, "add": 10_000, "mix": 1_000}
    put(output, op_summary_20260101000000__csv=summary(FIRST), memory_record_1__csv="")
    (source,) = find_sources(tmp_path).sources
    assert [file.name for file in source.files] == ["op_summary_20260101000000.csv"]
    assert source.note and "task_time_20260101000000.csv (the trace and op_summary have the tasks)" in source.note
    assert source.troubles == (("empty_file", ("memory_record_1.csv",)), ("missing_table", ("msprof_*.json",)))


def test_an_export_below_the_folder_of_a_framework_belongs_to_it_and_stands_in_where_that_has_nothing(tmp_path):
    profile = write_text(Execution(), tmp_path)
    export = profile / "PROF_000001_1_A" / "mindstudio_profiler_output"
    put(export, op_summary_20260101000000__csv=summary(FIRST))
    assert list(sources(tmp_path)) == ["rank0"]
    assert list(sources(export)) == ["PROF_000001_1_A"]
    shutil.rmtree(profile / "ASCEND_PROFILER_OUTPUT")
    assert list(sources(tmp_path)) == ["PROF_000001_1_A"]
    assert find_sources(tmp_path).left_out == ()


def test_a_database_of_msprof_beside_its_text_is_the_other_form(tmp_path):
    root = tmp_path / "PROF_000001_1_A"
    put(root / "mindstudio_profiler_output", op_summary_20260101000000__csv=summary(FIRST))
    database = write_database(Execution(), tmp_path / "other", framework="mindspore")
    shutil.move(next(database.glob("*/*.db")), root / "msprof_20260101000000.db")
    shutil.rmtree(tmp_path / "other")
    assert sources(tmp_path) == {root.name: ["msprof_20260101000000.db"]}
    assert sources(tmp_path, "text") == {root.name: ["op_summary_20260101000000.csv"]}
    shutil.rmtree(root / "mindstudio_profiler_output")
    (run,) = pipeline.ingest(tmp_path, warehouse=tmp_path / "house")
    assert run.label == root.name
    assert rows(tmp_path / "house", "select source_format from marts.run") == [{"source_format": "msprof_database"}]


ANALYSED = {"Communication Time Info": {"Start Timestamp(us)": 5, "Elapse Time(ms)": 2}}


def analysis(path, *, steps=True):
    """A database of CANN's analysis; that of msprof itself has no steps."""
    step, value = (", step, type", ", 'step7', 'collective'") if steps else ("", "")
    with sqlite3.connect(path) as connection:
        connection.executescript(
            f"""
            create table CommAnalyzerTime(hccl_op_name, group_name, start_timestamp, elapse_time{step});
            insert into CommAnalyzerTime values ('hcom_allReduce__1', 'g', 5, 2{value});
            create table CommAnalyzerBandwidth(hccl_op_name, group_name, transport_type, transit_size, transit_time,
                package_size{step});
            insert into CommAnalyzerBandwidth values ('hcom_allReduce__1', 'g', 'SDMA', 1, 2, 3{value});
            create table CommAnalyzerMatrix(hccl_op_name, group_name, src_rank, dst_rank, transport_type{step});
            """
        )
    connection.close()


@pytest.mark.parametrize("name", ["communication_analyzer.db", "analysis.db", "of_any_name.db"])
@pytest.mark.parametrize("with_json", [False, True])
@pytest.mark.parametrize("steps", [False, True])
def test_an_analysis_is_told_by_its_tables_and_read_once_beside_text(tmp_path, name, with_json, steps):
    profile = write_text(Execution(), tmp_path)
    analysis(profile / "ASCEND_PROFILER_OUTPUT" / name, steps=steps)
    if with_json:
        operation = {"hcom_allReduce__1@g": ANALYSED}
        content = {"step7": {"collective": operation}} if steps else operation | {"Total Op Info": ANALYSED}
        put(profile / "ASCEND_PROFILER_OUTPUT", communication__json=json.dumps(content))
    (run,) = pipeline.ingest(profile, warehouse=tmp_path / "house")
    assert overall(tmp_path / "house", run.run_id)["Computing Time"] == Execution().answers["Computing Time"]
    operations = "select operation_name, process_group, step, elapsed_ns from staging.stg_communication_operation"
    assert [tuple(row.values()) for row in rows(tmp_path / "house", operations)] == [
        ("hcom_allReduce__1", "g", 7 if steps else None, 2_000_000)
    ]
    transfers = rows(tmp_path / "house", "select bytes from staging.stg_communication_transfer")
    assert transfers == ([] if with_json else [{"bytes": 1_000_000}])


def test_links_of_an_analysis_without_steps_are_read(tmp_path):
    matrix = {"allreduce-top1@g": {"0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 2}}}
    root = tmp_path / "PROF_1"
    put(root / "mindstudio_profiler_output", op_summary_20260101000000__csv=summary(FIRST))
    put(root / "analyze", communication_matrix__json=json.dumps(matrix))
    pipeline.ingest(root, label="run", warehouse=tmp_path / "house")
    found = rows(tmp_path / "house", "select name, step, source_rank, target_rank, bytes from raw.communication")
    assert [tuple(row.values()) for row in found] == [("allreduce-top1", None, 0, 1, 2_000_000)]


STEP_TRACE = "Step,Computing,Communication(Not Overlapped),Free\n1,2,3,4\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"step_trace_time__csv": "Step,Computing,Communication(Not Overlapped),Free\n1,2,3,4\n"},
            "step_trace_time.csv",
        ),
        ({"communication__json": json.dumps({"step1": {"collective": {"a@b": ANALYSED}}})}, "communication.json"),
        (
            {"kernel_details__csv": "", "trace_view__json": ""},
            r"kernel_details.csv \(empty\), trace_view.json \(empty\)",
        ),
    ],
)
def test_a_rank_that_holds_no_run_is_named_with_what_it_holds(tmp_path, files, said):
    put(tmp_path / "rank1_ascend_pt" / "ASCEND_PROFILER_OUTPUT", **files)
    with pytest.raises(InputError, match=f"rank1_ascend_pt: not read: it holds {said} alone"):
        pipeline.ingest(tmp_path, warehouse=tmp_path / "house")
    write_text(Execution(), tmp_path)
    with pytest.warns(LeftOutWarning) as warned:
        (run,) = pipeline.ingest(tmp_path, warehouse=tmp_path / "house")
    assert re.search(f"rank1_ascend_pt: not read: it holds {said}", str(warned[0].message))
    assert run.label == "rank0"
    with pytest.raises(InputError, match="--strict was given"):
        pipeline.ingest(tmp_path, warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))


def test_a_profile_that_was_never_analysed_is_named(tmp_path):
    (tmp_path / "host_1_ascend_ms" / "FRAMEWORK").mkdir(parents=True)
    with pytest.raises(InputError, match="host_1_ascend_ms: not read: it has no ASCEND_PROFILER_OUTPUT"):
        find_sources(tmp_path)


def test_tables_that_are_empty_or_missing_are_told_and_leave_the_run_complete(tmp_path):
    profile = write_mindspore(Execution(), tmp_path)
    output = profile / "ASCEND_PROFILER_OUTPUT"
    (output / "memory_record.csv").unlink()
    header = (output / "operator_memory.csv").read_text().partition("\n")[0]
    (output / "operator_memory.csv").write_text(header + "\n")
    put(output, l2_cache__csv="Stream Id,Task Id,Hit Rate\n1,2,3\n")
    (run,) = pipeline.ingest(profile, warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))
    problems = pairs(tmp_path / "house", "select kind, detail from marts.problem")
    assert problems == {"empty_table": "operator_memory.csv", "missing_table": "memory_record.csv"}
    assert rows(tmp_path / "house", "select status from marts.run") == [{"status": "complete"}]
    assert run.note == "rank0_ascend_ms: not read: l2_cache.csv (nothing here shows what they hold)"
    (output / "kernel_details.csv").write_text("")
    with pytest.raises(InputError, match=r"files of the profile are empty.*kernel_details.csv"):
        pipeline.ingest(profile, warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))


OLD = [
    {"name": "MatMul-op3", "ph": "X", "tid": "5", "ts": 1.0, "dur": 2.0, "pid": "0", "args": {"fullname": "Default/a"}}
]


@pytest.mark.parametrize(
    "name",
    ["ascend_timeline_display_3.json", "gpu_timeline_display_0.json", "aicore_intermediate_0_type.csv", "renamed.json",
     "step_trace_raw_0_detail_time.csv", "pynative_op_intermediate_0_detail.csv", "output_timeline_data_0.txt"],
)  # fmt: skip
def test_files_for_mindinsight_are_refused_as_what_they_are(tmp_path, name):
    path = tmp_path / "old" / name
    path.parent.mkdir()
    path.write_text(json.dumps(OLD))
    for given in (path, path.parent):
        with pytest.raises(InputError, match="MindInsight's timeline and tables") as refused:
            pipeline.ingest(given, warehouse=tmp_path / "house")
        assert refused.value.exit_code == 3
    write_text(Execution(), tmp_path)
    (tmp_path / "old" / "hccl_raw_0.csv").write_text("a,b\n")
    found = find_sources(tmp_path)
    assert [source.name for source in found.sources] == ["rank0"]
    assert [left.path.parent.name for left in found.left_out] == ["old"]
    assert "(2 such files here)" in found.left_out[0].reason


MEGABYTES = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)"


@pytest.mark.parametrize(
    ("folder", "header", "size"),
    [
        ("a_ascend_ms", f"{MEGABYTES},Device Type", 2_048_000),
        ("renamed", f"{MEGABYTES},Total Active(MB),Device Type", 2_048_000),
        ("a_ascend_pt", f"{MEGABYTES},Device Type", 2 << 20),
        ("torch", f"{MEGABYTES},Total Active(MB),Stream Ptr,Device Type", 2 << 20),
        ("b_ascend_ms", "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device", 2 << 10),
    ],
)  # fmt: skip
def test_a_megabyte_is_a_thousand_kilobytes_where_mindspore_wrote_it(tmp_path, folder, header, size):
    cells = {"Component": "GE", "Timestamp(us)": "5.5", "Device Type": "NPU:1", "Device": "NPU:1"}
    row = ",".join(cells.get(name, "2" if "Reserved" in name else "1") for name in header.split(","))
    path = put(tmp_path / folder) / "memory_record.csv"
    path.write_text(f"{header}\n{row}\n")
    source = find_sources(path).sources[0]
    (batch,) = [batch for table, batch in source.extract(Report()) if table == "memory_sample"]
    assert batch.to_pylist()[0] | {"args": None, "event_index": 0} == {
        "event_index": 0, "component": "GE", "time_ns": 5_500, "total_allocated": size // 2, "total_reserved": size,
        "device": 1, "args": None,
    }  # fmt: skip


@pytest.mark.parametrize("has_framework", [True, False])
def test_a_copy_of_a_database_is_in_the_step_of_canns_call_and_of_the_operator_that_enqueued_it(
    tmp_path, has_framework
):
    profile = write_database(Execution(), tmp_path)
    database = next(profile.glob("*/*.db"))
    if not has_framework:
        with sqlite3.connect(database) as connection:
            connection.executescript("delete from PYTORCH_API where type = 50002")  # no queue to follow
        connection.close()
    pipeline.ingest(profile, label="run", warehouse=tmp_path / "house")
    copies = (
        "select step, operator_name from intermediate.int_device_activity where activity_kind = 'memcpy' order by step"
    )
    operator = "aten::copy_" if has_framework else None
    assert [tuple(row.values()) for row in rows(tmp_path / "house", copies)] == [(7, operator), (8, operator)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_connection_of_two_operators_alone_is_one_of_forward_and_backward(tmp_path, count):
    profile = write_database(Execution(), tmp_path)
    with sqlite3.connect(next(profile.glob("*/*.db"))) as connection:
        connection.execute("insert into STRING_IDS values (900, 'aten::relu')")
        for place in range(count):
            at = 1_760_000_000_000_000_000 + 1_000 * place
            connection.execute("insert into CONNECTION_IDS values (?, 9999)", (900 + place,))
            connection.execute(
                "insert into PYTORCH_API values (?, ?, ?, ?, 900, null, null, null, null, null, 50001)",
                (str(at), str(at + 10), 5_120 << 32 | 5_120, 900 + place),
            )
    connection.close()
    pipeline.ingest(profile, label="run", warehouse=tmp_path / "house")
    flows = rows(tmp_path / "house", "select is_backward from staging.stg_forward_backward order by time_ns")
    assert [row["is_backward"] for row in flows] == ([False, True] if count == 2 else [])


def test_sums_over_collectives_and_iterations_are_kept(tmp_path):
    put(
        tmp_path / "PROF_1" / "mindstudio_profiler_output",
        op_summary_1__csv=summary(FIRST),
        hccl_statistic_1__csv="Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
        "0,hcom_allReduce_,2,9.5,4,4.75,5.5,100\n",
        step_trace_1__csv="Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us)\n"
        "0,7,N/A,N/A,500.5,100.25\n",
    )
    (run,) = pipeline.ingest(tmp_path / "PROF_1", warehouse=tmp_path / "house")
    assert run.note is None
    columns = "source, name, step, call_count, total_ns, min_ns, average_ns, max_ns"
    found = rows(tmp_path / "house", f"select {columns} from staging.stg_statistic order by 1")
    assert [tuple(row.values()) for row in found] == [
        ("communication_statistic", "hcom_allReduce_", None, 2, 9_500, 4_000, 4_750, 5_500),
        ("step_trace", None, 7, None, 100_250, None, None, None),
    ]
