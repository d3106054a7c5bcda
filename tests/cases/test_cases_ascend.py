"""Given profiles after what MindSpore's and CANN's own writers write, each with its outcome (in nanoseconds)."""

from __future__ import annotations

import pytest

import pipeline
from pipeline.errors import InputError
from tests.support.asking import overall, pairs, rows
from tests.support.paths import CASES, SHARED, needs_shared

pytestmark = needs_shared


def case(number):
    return next(CASES.glob(f"{number}-*"))


def figures(house, run_id, step=None):
    names = ("E2E Time", "Computing Time", "Communication Time", "Uncovered Communication Time", "Free Time")
    found = overall(house, run_id, step)
    return [found[name] for name in names]


def test_201_host_events_without_a_category(tmp_path):
    (run,) = pipeline.ingest(case(201) / "rank0_ascend_ms", warehouse=tmp_path)
    for step in (None, 1):
        assert figures(tmp_path, run.run_id, step) == [200_000, 50_000, 100_000, 100_000, 50_000]
    steps = rows(tmp_path, "select step, start_ns, duration_ns from marts.step")
    assert steps == [{"step": 1, "start_ns": 1_760_000_000_000_000_000, "duration_ns": 1_000_000}]
    calls = rows(tmp_path, "select call_name, call_count, total_duration_ns from marts.host_call where step is null")
    assert sorted((row["call_name"].split("/")[-1], row["call_count"], row["total_duration_ns"]) for row in calls) == [
        ("Add-op2", 1, 20_000),
        ("AllReduce-op3", 1, 20_000),
        ("MatMul-op1", 1, 20_000),
    ]
    operators = pairs(tmp_path, "select operator_name, device_duration_ns from marts.operator where step is null")
    assert {name.split("/")[-1]: duration for name, duration in operators.items()} == {
        "MatMul-op1": 40_000,
        "Add-op2": 10_000,
        "AllReduce-op3": 100_000,
    }


def test_203_the_step_of_a_collective(tmp_path):
    (run,) = pipeline.ingest(case(203) / "rank0_ascend_ms", warehouse=tmp_path)
    for step in (None, 1):
        assert figures(tmp_path, run.run_id, step) == [200_000, 40_000, 100_000, 100_000, 60_000]


def test_205_an_analysis_beside_text_is_no_database_of_a_run(tmp_path):
    (run,) = pipeline.ingest(case(205) / "rank0_ascend_ms", warehouse=tmp_path)
    assert figures(tmp_path, run.run_id) == [60_000, 50_000, 0, 0, 10_000]
    found = overall(tmp_path, run.run_id)
    assert (found["Matmul"], found["Vector"]) == (40_000, 10_000)
    assert rows(tmp_path, "select count(*) as n from staging.stg_communication_operation") == [{"n": 1}]
    assert run.note is None


@pytest.mark.parametrize("level", ["", "PROF_*", "PROF_*/mindstudio_profiler_output"])
def test_207_an_export_of_msprof_is_one_run_at_any_level(tmp_path, level):
    folder = next(case(207).glob(level)) if level else case(207)
    (run,) = pipeline.ingest(folder, warehouse=tmp_path)
    assert run.label == "PROF_000001_20250101000000000_ABCDEFGHIJKLMNOP"
    assert run.note and "task_time_20250101000000.csv" in run.note
    types = "select kernel_type, accelerator_core, total_duration_ns, recorded_duration_ns from marts.kernel_type"
    assert [tuple(row.values()) for row in rows(tmp_path, f"{types} order by 1")] == [
        ("Add", "AI_VECTOR_CORE", 10_000, 10_000),
        ("MatMulV2", "AI_CORE", 40_000, 40_000),
    ]
    assert pairs(tmp_path, "select call_name, total_duration_ns from marts.cann_call") == {"aclnnMatmul": 12_500}
    peak = "select device, peak_allocated_bytes, peak_reserved_bytes from marts.memory_peak where step is null"
    assert [tuple(row.values()) for row in rows(tmp_path, peak)] == [(0, 1_048_576, 2_097_152)]
    memory = "select device, allocated_bytes, held_duration_ns from marts.memory where step is null"
    assert [tuple(row.values()) for row in rows(tmp_path, memory)] == [(0, 524_288, 40_000)]


def test_207_tables_alone_are_a_run_too(tmp_path):
    source = next(case(207).glob("PROF_*/mindstudio_profiler_output"))
    output = tmp_path / "PROF_000002_1_A" / source.name
    output.mkdir(parents=True)
    for file in source.glob("*.csv"):
        (output / file.name).write_bytes(file.read_bytes())
    (run,) = pipeline.ingest(output.parent, warehouse=tmp_path / "house")
    assert figures(tmp_path / "house", run.run_id) == [60_000, 50_000, 0, 0, 10_000]


def test_208_a_timeline_of_mindinsight_is_refused(tmp_path):
    for path in (case(208) / "profiler", case(208) / "profiler" / "ascend_timeline_display_0.json"):
        with pytest.raises(InputError, match="MindInsight's timeline"):
            pipeline.ingest(path, warehouse=tmp_path)


def test_210_a_start_without_a_unit_is_in_microseconds(tmp_path):
    (run,) = pipeline.ingest(case(210) / "op_summary_0_1.csv", warehouse=tmp_path)
    assert run.problems == ()
    assert figures(tmp_path, run.run_id) == [180_000, 162_110, 0, 0, 17_890]


@pytest.mark.parametrize("folder", ["mindspore-2.7-writers", "mindspore-2.7-writers-analyzer-db_ascend_ms"])
def test_a_profile_by_mindspores_own_writers_has_steps_calls_and_operators(tmp_path, folder):
    (run,) = pipeline.ingest(SHARED / "npu" / folder, warehouse=tmp_path)
    whole, step = (overall(tmp_path, run.run_id, number) for number in (None, 50))
    assert whole["Communication Time"] == step["Communication Time"] == 105_991_878
    assert whole["E2E Time"] == step["E2E Time"] == 136_581_009
    assert whole["Computing Time"] == 8_873_756
    assert abs(step["Computing Time"] - 8_873_756) <= 20  # the profiler rounds each interval of the whole
    steps = rows(tmp_path, "select step, duration_ns from marts.step")
    assert steps == [{"step": 50, "duration_ns": 177_635_189}]
    calls = "select sum(call_count)::bigint as n from marts.host_call where step is null"
    assert rows(tmp_path, calls) == [{"n": 210}]
    activity = "intermediate.int_device_activity"
    unlaunched = f"select count(*) as n from {activity} where kernel_type is not null and launch_index is null"
    assert rows(tmp_path, unlaunched) == [{"n": 0}]
    names = "select count(*) as n from marts.kernel where kernel_name like 'Kernel::%'"
    assert rows(tmp_path, names) == [{"n": 0}]
