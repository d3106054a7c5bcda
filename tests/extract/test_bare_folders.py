"""Tables of profilers in folders of any name, links, and profiles of which a part is damaged."""

from __future__ import annotations

import gzip
import lzma
import sqlite3

import pytest

import pipeline
from fixtures.ascend import Execution, write_database, write_text
from pipeline.errors import InputError, LeftOutWarning
from pipeline.extract.source import find_sources
from tests.support import traces
from tests.support.asking import overall, pairs, rows
from tests.support.events import task, tracks

DETAILS = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
KERNELS = DETAILS + "1,a,MatMulV2,AI_CORE,100.5\t,40,0,8\n1,b,Add,AI_VECTOR_CORE,150.5\t,10.25,0,8\n"
SAMPLES = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\nPTA,5.0,1,2,NPU:0\n"
SUMS = "OP Type,Core Type,Count,Total Time(us)\nAdd,AI_CORE,1,5\n"
STEPS = "Step,Computing,Communication(Not Overlapped),Free\n1,2,3,4\n"
TRACE = traces.array_text([tracks(), task("a", 100_500, 40_000)])


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    return folder


def names(path):
    return {source.name: sorted(file.name for file in source.files) for source in find_sources(path).sources}


def test_tables_below_a_folder_are_read_with_the_trace_beside_them(tmp_path):
    for rank in (0, 1):
        put(tmp_path / "job" / f"r{rank}", kernel_details__csv=KERNELS, trace_view__json=TRACE)
    put(tmp_path / "job" / "export", op_summary_1__csv=KERNELS, msprof_1__json=TRACE)
    put(tmp_path / "job" / "sampled", memory_record__csv=SAMPLES, trace_view__json=TRACE)
    assert names(tmp_path) == {
        "r0": ["kernel_details.csv", "trace_view.json"],
        "r1": ["kernel_details.csv", "trace_view.json"],
        "export": ["msprof_1.json", "op_summary_1.csv"],
        "sampled": ["memory_record.csv", "trace_view.json"],
    }
    pipeline.ingest(tmp_path / "job" / "r0", warehouse=tmp_path / "house")
    types = "select kernel_type, total_duration_ns from marts.kernel_type where step is null"
    assert pairs(tmp_path / "house", types) == {"MatMulV2": 40_000, "Add": 10_250}


def test_traces_beside_tables_that_are_not_theirs_are_runs_of_their_own(tmp_path):
    folder = put(tmp_path / "results", kernel_details__csv=KERNELS)
    for name in ("a.json", "b.json", "deeper/c.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        traces.write(folder / name)
    found = pipeline.ingest(folder, warehouse=tmp_path / "house")
    assert [run.run_id for run in found] == ["results", "a", "b", "c"]
    assert found[0].problems == ("1 × files that such a profile should have are missing: trace_view.json",)
    counts = "select run_id, event_count from marts.run where run_id in ('a', 'results')"
    assert pairs(tmp_path / "house", counts) == {"a": len(traces.SMALL), "results": 2}


def test_databases_of_several_ranks_beside_tables_are_runs_of_their_own(tmp_path):
    for rank in (0, 1):
        database = next(write_database(Execution(), tmp_path / f"{rank}").glob("*/*.db"))
        put(tmp_path / "all", **{f"ascend_pytorch_profiler_{rank}__db": database.read_bytes()})
    put(tmp_path / "all", kernel_details__csv=KERNELS)
    assert list(names(tmp_path / "all")) == ["all", "ascend_pytorch_profiler_0", "ascend_pytorch_profiler_1"]


def test_sums_alone_in_a_folder_of_any_name_are_named_and_those_of_a_cluster_and_any_other_table_are_not(tmp_path):
    put(tmp_path / "job" / "sums", op_statistic__csv=SUMS, step_trace_time__csv=STEPS)
    put(
        tmp_path / "job" / "cluster_analysis_output",
        cluster_step_trace_time__csv=STEPS.replace("Step,", "Step,Type,Index,").replace("1,", "1,rank,0,", 1),
    )
    put(tmp_path / "job" / "notes", inputs__csv="Name,Input Shapes\na,b\n", words__csv="a,b\n1,2\n")
    traces.write(tmp_path / "job" / "gpu.json")
    found = find_sources(tmp_path / "job")
    assert [source.name for source in found.sources] == ["gpu"]
    (left,) = found.left_out
    assert left.path.name == "sums"
    assert left.reason.startswith("it holds op_statistic.csv, step_trace_time.csv alone, and no trace")
    with pytest.raises(InputError, match=r"no trace in this folder \(.*sums: not read: it holds op_statistic.csv"):
        find_sources(tmp_path / "job" / "sums")


def test_tables_are_read_out_of_what_they_are_packed_in(tmp_path):
    output = put(
        tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT",
        kernel_details__csv__gz=gzip.compress(KERNELS.encode()),
        memory_record__csv__xz=lzma.compress(SAMPLES.encode()),
        trace_view__json__gz=gzip.compress(TRACE.encode()),
    )
    (run,) = pipeline.ingest(output, warehouse=tmp_path / "house")
    assert overall(tmp_path / "house", run.run_id)["Computing Time"] == 50_250
    assert rows(tmp_path / "house", "select peak_reserved_bytes as n from marts.memory_peak") == [{"n": 2 << 20}]


def other_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table notes (id integer)")
    connection.close()
    return path.read_bytes()


BROKEN = b"SQLite format 3\0" + b"damaged" * 1_000


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"trace_view__json__gz": b"\x1f\x8b\x08garbage"}, "unreadable_file trace_view.json.gz"),
        ({"trace_view__json": b"<html>"}, "unreadable_file trace_view.json"),
        ({"trace_view__json": b"[]\n"}, "empty_file trace_view.json"),
        ({"trace_view__json": b""}, "empty_file trace_view.json"),
        ({"trace_view__json": b"{}"}, "missing_table trace_view.json"),
        ({"trace_view__json": TRACE.encode(), "op_statistic__csv": b"\n"}, "unreadable_file op_statistic.csv"),
        ({"trace_view__json": TRACE.encode(), "op_statistic__csv": b"a,b\n1,2\n"}, "unreadable_file op_statistic.csv"),
        ({"trace_view__json": TRACE.encode(), "op_statistic__csv__gz": b"\x1f\x8b\x08garbage"},
         "unreadable_file op_statistic.csv.gz"),
        ({"trace_view__json": TRACE.encode(), "analysis__db": BROKEN}, "unreadable_file analysis.db"),
        ({"trace_view__json": TRACE.encode(), "ascend_pytorch_profiler_0__db": BROKEN},
         "unreadable_file ascend_pytorch_profiler_0.db"),
        ({"trace_view__json": TRACE.encode(), "communication_analyzer__db": None},
         "unreadable_file communication_analyzer.db"),
        ({"trace_view__json": TRACE.encode(), "communication__json": b"{}"}, ""),
        ({"trace_view__json": TRACE.encode(), "l2_cache__csv": b"a,b\n1,2\n"}, ""),
    ],
)  # fmt: skip
def test_a_profile_is_read_without_what_is_damaged_in_it_and_that_is_told(tmp_path, files, problem):
    files = {name: other_database(tmp_path / "x.db") if of is None else of for name, of in files.items()}
    output = put(tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT", kernel_details__csv=KERNELS, **files)
    (run,) = pipeline.ingest(output, warehouse=tmp_path / "house")
    assert overall(tmp_path / "house", run.run_id)["Computing Time"] == 50_250
    told = rows(tmp_path / "house", "select kind || ' ' || detail as said from marts.problem")
    assert [row["said"] for row in told] == ([problem] if problem else [])
    if problem.startswith(("unreadable_file", "empty_file")):
        assert rows(tmp_path / "house", "select status from marts.run") == [{"status": "salvaged"}]
        with pytest.raises(InputError, match=problem.split()[1]):
            pipeline.ingest(output, warehouse=tmp_path / "h", options=pipeline.ReadOptions(strict=True))


def test_what_a_database_repeats_is_named(tmp_path):
    output = next(write_database(Execution(), tmp_path).glob("ASCEND_PROFILER_OUTPUT"))
    put(output, memory_record__csv=SAMPLES)
    (run,) = pipeline.ingest(output, warehouse=tmp_path / "house")
    assert run.note == "rank0_ascend_pt: not read: memory_record.csv (the database has what they show)"


def test_a_profile_of_damaged_files_alone_is_left_out_with_their_names(tmp_path):
    put(tmp_path / "job" / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT", ascend_pytorch_profiler_0__db=BROKEN)
    traces.write(tmp_path / "job" / "gpu.json")
    with pytest.warns(LeftOutWarning, match=r"it holds ascend_pytorch_profiler_0.db \(damaged\) alone"):
        pipeline.ingest(tmp_path / "job", warehouse=tmp_path / "house")


def test_links_are_followed_once_and_those_to_nothing_are_named(tmp_path):
    for rank in (0, 1):
        write_text(Execution(), tmp_path / str(rank)).rename(tmp_path / f"rank{rank}_ascend_pt")
    job = tmp_path / "job"
    (job / "sub").mkdir(parents=True)
    for rank in (0, 1):
        (job / f"rank{rank}_ascend_pt").symlink_to(tmp_path / f"rank{rank}_ascend_pt")
    (job / "latest").symlink_to(tmp_path / "rank1_ascend_pt")
    (job / "sub" / "loop").symlink_to(job)
    (job / "rank2_ascend_pt").symlink_to(tmp_path / "nowhere")
    (job / "rank3.json").symlink_to(tmp_path / "nowhere")
    (job / "notes").symlink_to(tmp_path / "nowhere")
    assert list(names(job)) == ["rank0", "rank1"]
    left_out = [(left.path.name, left.reason) for left in find_sources(job).left_out]
    assert left_out == [("rank2_ascend_pt", "a link to nothing"), ("rank3.json", "a link to nothing")]
    assert list(names(job / "rank0_ascend_pt")) == ["rank0"]


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    traces.write(tmp_path / "gpu.json")
    (tmp_path / "closed").mkdir()
    listed = type(tmp_path).iterdir

    def iterdir(folder):
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(type(tmp_path), "iterdir", iterdir)
    (left,) = find_sources(tmp_path).left_out
    assert (left.path.name, left.reason) == ("closed", "the folder cannot be read (Permission denied)")
