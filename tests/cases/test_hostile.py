"""Broken and unusual inputs of our own, each with figures that were worked out by hand beside it.

They are of the kinds of the given cases in `test_cases.py`, with other names, values and layouts, so that a checkout
alone tests as much. Times are nanoseconds.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import openpyxl
import pytest

import pipeline
from pipeline.comparison.matching import Matching
from pipeline.errors import InputError
from pipeline.render.workbook import xlsx
from tests.support import traces
from tests.support.asking import overall, pairs, rows
from tests.support.events import collective, gpu_annotation, kernel, launch, memcpy, memset, on_device, op, step, sync


def ingest(path: Path, house: Path, **options):
    (run,) = pipeline.ingest(path, warehouse=house, **options)
    return run


def compared(tmp_path, old, new, **options):
    sources = traces.write(tmp_path / "old.json", old), traces.write(tmp_path / "new.json", new)
    return pipeline.compare(*sources, warehouse=tmp_path / "house", **options).tables


# -- text that is no JSON, or no text ---------------------------------------------------------------


def test_literals_that_are_not_finite_become_null_and_are_counted(tmp_path):
    # A gemm of 8 at 200, and from 212 on fills of 3 at rates that are no numbers, 1 between two: 4 and 1s idle.
    literals = ["NaN", "Infinity", "-Infinity", "nan", "-nan", "inf", "-inf", "NAN", "Inf"]
    fills = ", ".join(
        f'{{"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": {212 + 4 * place}, "dur": 3,'
        f' "args": {{"device": 0, "stream": 7, "bytes": 64, "rate": {literal}, "more": [1, {literal}]}}}}'
        for place, literal in enumerate(literals)
    )
    gemm = traces.event_text(kernel("gemm", 200_000, 8_000))
    path = tmp_path / "odd.json"
    path.write_text(f'{{"schemaVersion": 1, "traceEvents": [{gemm}, {fills}]}}')
    run = ingest(path, tmp_path / "house")
    figures = overall(tmp_path / "house", "odd")
    assert [figures[m] for m in ("E2E Time", "Computing Time", "SDMA", "Free")] == [47_000, 8_000, 27_000, 12_000]
    assert [problem.split(" ")[0] for problem in run.problems] == ["18"]
    args = "select args->>'rate' as rate, args->>'bytes' as bytes from raw.event where category = 'gpu_memset'"
    assert rows(tmp_path / "house", args) == [{"rate": None, "bytes": "64"}] * 9
    assert rows(tmp_path / "house", "select status from marts.run") == [{"status": "salvaged"}]


def test_bytes_that_are_no_text_become_replacement_characters_and_lose_no_event(tmp_path):
    names = [b"worker \xff\xfe", b"caf\xe9(1)", "層.py(9): 前".encode(), b"tab\there", b"cut \xe5\xb1"]
    events = b", ".join(
        traces.event_text(op("NAME", 10_000 * place, 5_000)).encode().replace(b"NAME", name)
        for place, name in enumerate(names)
    )
    path = tmp_path / "bytes.json"
    path.write_bytes(b'{"traceEvents": [' + events + b"]}")
    run = ingest(path, tmp_path / "house")
    found = [row["name"] for row in rows(tmp_path / "house", "select name from raw.event order by event_index")]
    assert (found[1], found[2], found[3]) == ("caf\ufffd(1)", "層.py(9): 前", "tab\there")
    assert found[0].startswith("worker \ufffd")
    assert found[4].startswith("cut \ufffd")
    assert [problem.split(" ")[0] for problem in run.problems] == ["4"]


CUT = [
    op("aten::bmm", 10_000, 30_000),
    launch("cudaLaunchKernel", 12_000, 3_000, 9),
    kernel("bmm", 50_000, 20_000, correlation=9),
    kernel("relu", 75_000, 5_000),
    kernel("never ends", 90_000, 5_000),
]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("ending", [20, 3, 1])
def test_a_file_that_is_cut_keeps_what_was_whole(tmp_path, suffix, ending):
    whole = traces.trace_text(CUT)
    data = whole[: -ending - 2].encode()  # within the last event
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    run = ingest(path, tmp_path / "house")
    figures = overall(tmp_path / "house", "cut")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (25_000, 30_000, 5_000)
    assert rows(tmp_path / "house", "select status, event_count from marts.run") == [
        {"status": "incomplete", "event_count": 4}
    ]
    assert len(run.problems) == 1
    with pytest.raises(InputError, match="--strict"):
        ingest(path, tmp_path / "strict", options=pipeline.ReadOptions(strict=True))


def test_a_compressed_file_that_is_cut_keeps_what_can_be_unpacked(tmp_path):
    many = [kernel(f"k{place * 7919 % 1000}", 10_000 * place, 5_000) for place in range(4_000)]
    data = gzip.compress(traces.trace_text(many).encode())
    path = tmp_path / "cut.json.gz"
    path.write_bytes(data[: len(data) // 2])
    run = ingest(path, tmp_path / "house")
    (found,) = rows(tmp_path / "house", "select status, event_count from marts.run")
    assert found["status"] == "incomplete"
    assert 1_000 < found["event_count"] < 3_000
    assert run.problems


@pytest.mark.parametrize("name", ["members.json.gz", "compressed though it is named otherwise.json"])
def test_members_of_a_compressed_file_follow_one_another_whatever_its_name(tmp_path, name):
    data = traces.trace_text().encode()
    path = tmp_path / name
    path.write_bytes(b"".join(gzip.compress(data[at : at + 100]) for at in range(0, len(data), 100)))
    assert ingest(path, tmp_path / "house", label="whole").problems == ()
    figures = overall(tmp_path / "house", "whole")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (15_000, 20_000, 5_000)


# -- times and categories ---------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["{}", '"{}"'])
def test_epoch_times_are_exact_to_the_nanosecond_as_numbers_and_as_text(tmp_path, written):
    times = [(1801234567890123457, 543), (1801234567890124001, 1_998), (1801234567890125999, 64)]
    trace = traces.trace_text(kernel(f"k{place}", start, length) for place, (start, length) in enumerate(times))
    path = tmp_path / "exact.json"
    path.write_text(re.sub(r'(?<="ts": )[0-9.]+|(?<="dur": )[0-9.]+', lambda time: written.format(time[0]), trace))
    ingest(path, tmp_path / "house")
    found = rows(tmp_path / "house", "select start_ns, duration_ns from raw.event order by start_ns")
    assert [tuple(row.values()) for row in found] == times
    figures = overall(tmp_path / "house", "exact")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (2_605, 2_606, 1)


OLD_NAMES = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "cpu_op": "Operator", "cuda_runtime": "Runtime"}


def test_old_and_new_names_of_categories_are_the_same_run(tmp_path):
    new = [*traces.SMALL, memcpy(1_052_000, 4_000, bytes=64)]
    old = [(table, values | {"category": OLD_NAMES[values["category"]]}) for table, values in new]
    tables = compared(tmp_path, old, new)
    for table in tables.values():
        for row in table.rows.to_pylist():
            assert not any(value for name, value in row.items() if name.startswith("diff_")), (table.view.name, row)
    figures = overall(tmp_path / "house", "old")
    assert [figures[m] for m in ("Computing Time", "SDMA", "E2E Time", "Free")] == [15_000, 4_000, 26_000, 7_000]


def test_what_stands_on_tracks_of_a_device_and_is_no_activity_never_counts(tmp_path):
    events = [
        *traces.SMALL,
        gpu_annotation("forward", 900_000, 500_000),
        sync("Stream Sync", 1_000_000, 400_000),
        on_device("overhead", "Buffer Flush", 2_000_000, 50_000, 7, 0),
    ]
    ingest(traces.write(tmp_path / "rows.json", events), tmp_path / "house")
    figures = overall(tmp_path / "house", "rows")
    assert (figures["Computing Time"], figures["E2E Time"], figures["Free"]) == (15_000, 20_000, 5_000)
    waits = "select synchronization_name, total_duration_ns from marts.synchronization"
    assert pairs(tmp_path / "house", waits) == {"Stream Sync": 400_000}


# -- what belongs together --------------------------------------------------------------------------


@pytest.mark.parametrize("none", [0, -1, "0"])
def test_a_correlation_that_means_none_links_nothing(tmp_path, none):
    events = [
        op("aten::addmm", 10_000, 20_000),
        launch("cudaLaunchKernel", 12_000, 3_000, 77),
        launch("cudaEventRecord", 40_000, 2_000, none),
        op("aten::item", 38_000, 9_000),
        kernel("addmm", 50_000, 6_000, correlation=77),
        kernel("stray", 60_000, 9_000, correlation=none),
    ]
    ingest(traces.write(tmp_path / "zero.json", events), tmp_path / "house")
    operators = "select operator_name, device_duration_ns from marts.operator where step is null"
    assert pairs(tmp_path / "house", operators) == {
        "aten::addmm": 6_000,
        "aten::item": 0,
        "(no launch in the trace)": 9_000,
    }


def test_collectives_are_told_by_what_they_carry_and_then_by_their_name(tmp_path):
    events = [
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 100_000, 30_000),
        collective(
            "_allgather_base",
            200_000,
            20_000,
            kernel_name="plain_looking_kernel",
            group=None,
            size=4,
            dtype="BFloat16",
            sent=100,
            stream=7,
        ),
        kernel("void vllm::cross_device_reduce_2stage<__half, 8>(x)", 300_000, 10_000),
        kernel("gemm", 310_000, 10_000),
    ]
    ingest(traces.write(tmp_path / "comm.json", events), tmp_path / "house")
    figures = overall(tmp_path / "house", "comm")
    assert (figures["Uncovered Communication Time"], figures["Computing Time"]) == (60_000, 10_000)
    sums = (
        "select collective_name, sum(total_duration_ns)::bigint from marts.communication where step is null group by 1"
    )
    assert pairs(tmp_path / "house", sums) == {"allreduce": 40_000, "allgather": 20_000}
    sizes = "select input_bytes from intermediate.int_collective where input_bytes is not null"
    assert rows(tmp_path / "house", sizes) == [{"input_bytes": 200}]


def step_of(number, at, length, launches, kernels=None):
    """A step with some launches, each of a kernel of 4 µs, 50 µs after its operator; `kernels` of them recorded."""
    events = [step(number, at, length)]
    for place in range(launches):
        correlation = number * 100 + place
        events += [
            op("aten::mm", at + 10_000 * place, 8_000),
            launch("cudaLaunchKernel", at + 10_000 * place + 1_000, 2_000, correlation),
        ]
        if kernels is None or place < kernels:
            events.append(kernel("mm", at + 10_000 * place + 50_000, 4_000, correlation=correlation))
    return events


def test_averages_are_over_complete_steps_and_a_step_has_what_it_launched(tmp_path):
    old = [
        *step_of(7, 1_000_000, 100_000, 3, kernels=1),
        *step_of(8, 1_100_000, 100_000, 3),
        *step_of(9, 1_200_000, 60_000, 5),
    ]
    new = step_of(7, 1_000_000, 130_000, 4)
    tables = compared(tmp_path, old, new)
    found = rows(tmp_path / "house", "select * from marts.step where run_id = 'old' order by step")
    columns = ("step", "is_complete", "device_activity_count", "device_duration_ns", "duration_ns")
    assert [tuple(row[column] for column in columns) for row in found] == [
        (7, False, 1, 4_000, 100_000),
        (8, True, 3, 12_000, 100_000),
        (9, True, 5, 20_000, 60_000),
    ]
    # The last kernel of step 9 starts at 1290, 30 behind the end of its step.
    assert [row["duration_with_tail_ns"] for row in found] == [100_000, 100_000, 94_000]
    average = {row["metric"]: row for row in tables["step_comparison"].rows.to_pylist()}
    assert (
        average["Device Time"]["base_average_duration_ns"],
        average["Device Time"]["comparison_average_duration_ns"],
    ) == (
        16_000,
        16_000,
    )
    assert average["Step Length"]["diff_average_duration_ns"] == 130_000 - 80_000


def test_where_no_step_is_complete_there_is_no_average(tmp_path):
    old = [*step_of(1, 1_000_000, 100_000, 3, kernels=2), *step_of(2, 1_100_000, 100_000, 3, kernels=1)]
    tables = compared(tmp_path, old, step_of(1, 1_000_000, 100_000, 3))
    steps = rows(tmp_path / "house", "select step, is_complete from marts.step where run_id = 'old' order by 1")
    assert steps == [{"step": 1, "is_complete": False}, {"step": 2, "is_complete": False}]
    average = "select distinct step_count, complete_step_count, average_duration_ns from marts.step_average"
    assert rows(tmp_path / "house", f"{average} where run_id = 'old'") == [
        {"step_count": 2, "complete_step_count": 0, "average_duration_ns": None}
    ]
    for row in tables["step_comparison"].rows.to_pylist():
        assert (row["base_average_duration_ns"], row["diff_average_duration_ns"]) == (None, None), row
    # Then the whole runs are the headline.
    scopes = {row["scope"] for row in tables["headline_comparison"].rows.to_pylist()}
    assert scopes == {"whole run"}


def test_collectives_of_two_ranks_meet_on_one_clock(tmp_path):
    def rank(number, start, base, kinds=("allreduce", "allgather")):
        events = [
            collective(
                kind,
                start + 300_000 * place,
                90_000 - start % 100_000,
                group="dp",
                size=2,
                sent=500,
                received=500,
                seq=place,
            )
            for place, kind in enumerate(kinds)
        ]
        envelope = {"distributedInfo": {"rank": number, "world_size": 2}, "baseTimeNanoseconds": base}
        return traces.write(tmp_path / f"r{number}.json", events, **envelope)

    # On its own clock rank 1 starts 30 before rank 0; its clock began 50 later, so that it comes 20 behind it.
    pipeline.ingest(
        [rank(0, 130_000, 5_000_000), rank(1, 100_000, 5_050_000)], label="job", warehouse=tmp_path / "house"
    )
    columns = ("sequence", "rank", "start_skew_ns", "wait_ns", "is_last_to_arrive")
    skew = rows(tmp_path / "house", "select * from marts.collective_skew order by sequence, rank")
    assert [tuple(row[column] for column in columns) for row in skew] == [
        (0, 0, 20_000, 20_000, False),
        (0, 1, 20_000, 0, True),
        (1, 0, 20_000, 20_000, False),
        (1, 1, 20_000, 0, True),
    ]


# -- tables and rows --------------------------------------------------------------------------------


def test_an_ascend_table_says_nothing_in_many_ways(tmp_path):
    folder = tmp_path / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir()
    (folder / "kernel_details.csv").write_text(
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes\n"
        '3,aclnnMatmul_1,MatMulV3,AI_CORE,"1801234567890123.457\t",12.5,0,24,"""16,32;32,8"""\n'
        "3,aclnnMatmul_2,MatMulV3,AI_CORE,1801234567890200.001,7.5,N/A,,\n"
        "N/A,Cast_9,Cast,AI_VECTOR_CORE,1801234567890300,0.25,,N/A,N/A\n"
    )
    ingest(folder, tmp_path / "house", label="npu")
    assert pairs(tmp_path / "house", "select kind, problem_count from raw.problem") == {"missing_table": 1}  # the trace
    found = rows(tmp_path / "house", "select * from raw.kernel_detail order by event_index")
    assert [row["start_ns"] for row in found] == [1801234567890123457, 1801234567890200001, 1801234567890300000]
    assert [row["duration_ns"] for row in found] == [12_500, 7_500, 250]
    assert [row["wait_ns"] for row in found] == [0, None, None]
    assert [row["block_count"] for row in found] == [24, None, None]
    assert [row["step"] for row in found] == [3, 3, None]
    types = "select kernel_type, total_duration_ns from marts.kernel_type where step is null"
    assert pairs(tmp_path / "house", types) == {"MatMulV3": 20_000, "Cast": 250}


def test_rows_beyond_a_sheet_are_beside_the_workbook(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "SHEET_ROWS", 9)
    source = traces.write(tmp_path / "many.json", [kernel(f"k{i:02}", 10_000 * i, 1_000 * (1 + i)) for i in range(30)])
    result = pipeline.compare(
        source, source, warehouse=tmp_path / "house", output=tmp_path / "out", choice=pipeline.Choice(only=["kernel"])
    )
    book, beside, _ = result.files
    sheet = openpyxl.load_workbook(book)["KernelCompare"]
    assert sheet.max_row == 9
    assert beside.name in sheet["A1"].value
    assert len(beside.read_text("utf-8-sig").splitlines()) == 31


# -- one kernel, one signature, one stream ----------------------------------------------------------


def called(shapes, at, duration, name="fused", correlation=None, operator="aten::stack"):
    """An operator whose kernel runs 500 µs after it."""
    correlation = correlation or at
    return [
        op(operator, at, 9_000, input_shapes=json.dumps(shapes)),
        launch("cudaLaunchKernel", at + 1_000, 2_000, correlation),
        kernel(name, at + 500_000, duration, correlation=correlation),
    ]


def test_lists_of_tensors_are_signatures_of_their_own(tmp_path):
    shapes = [[[[8, 1], [8, 2]], []], [[8, 1], [8, 2], []], [[[8, 1]], [8, 2], []]]
    events = [event for place, one in enumerate(shapes) for event in called(one, 10_000 + 50_000 * place, 7_000)]
    ingest(traces.write(tmp_path / "lists.json", events), tmp_path / "house")
    for mart, column in (("kernel", "input_shapes"), ("operator_kernel", "operator_shapes")):
        found = rows(tmp_path / "house", f"select {column}, call_count from marts.{mart} where step is null")
        assert [row["call_count"] for row in found] == [1, 1, 1], mart


def test_lists_of_tensors_pair_with_lists(tmp_path):
    tables = compared(
        tmp_path,
        called([[[8, 1], [8, 2]], []], 10_000, 10_000),
        called([[8, 1], [8, 2], []], 10_000, 25_000),
        matching=Matching(use_input_shape=True),
    )
    for name, diff in (
        ("kernel_comparison", "diff_total_duration_ns"),
        ("operator_detail_comparison", "diff_device_duration_ns"),
    ):
        assert sorted(row[diff] for row in tables[name].rows.to_pylist()) == [-10_000, 25_000], name


@pytest.mark.parametrize(
    ("old", "new", "common"),
    [
        ("reduce<512, f::{lambda(float)#2}>(R)", "reduce<512, f::{lambda(float)#5}>(R)", "{lambda(float)#*}"),
        ("triton_red_fused_layer_norm_4", "triton_red_fused_layer_norm_11", "triton_red_fused_layer_norm_*"),
    ],
)
def test_kernels_that_builds_number_differently_are_one_row(tmp_path, old, new, common):
    tables = compared(tmp_path, called([[4]], 10_000, 40_000, old), called([[4]], 10_000, 30_000, new))
    (row,) = tables["kernel_comparison"].rows.to_pylist()
    assert common in row["kernel_name"]
    assert (row["base_kernel_name"], row["comparison_kernel_name"]) == (old, new)
    assert (row["diff_total_duration_ns"], row["ratio_total_duration_ns"]) == (-10_000, 0.75)
    assert pairs(tmp_path / "house", "select run_id, kernel_name from marts.kernel") == {"old": old, "new": new}


def test_an_activity_of_no_length_inside_another_and_branches_of_a_graph_are_no_alarm(tmp_path):
    events = [
        kernel("long", 100_000, 30_000, correlation=1),
        memset(110_000, 0, correlation=2),
        launch("cudaGraphLaunch", 5_000, 2_000, 3),
        kernel("left", 200_000, 30_000, correlation=3),
        kernel("right", 210_000, 50_000, correlation=3),
    ]
    run = ingest(traces.write(tmp_path / "calm.json", events), tmp_path / "house")
    assert (run.problems, rows(tmp_path / "house", "select * from marts.problem")) == ((), [])
    run = ingest(traces.write(tmp_path / "alarm.json", [*events, kernel("late", 220_000, 9_000)]), tmp_path / "house")
    (problem,) = rows(tmp_path / "house", "select * from marts.problem")
    assert (problem["run_id"], problem["kind"], problem["problem_count"]) == ("alarm", "overlap", 2)
