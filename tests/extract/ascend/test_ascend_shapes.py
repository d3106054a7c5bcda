"""One execution in the shapes of PyTorch and of MindSpore: the same of the device, and every pair of runs compares."""

from __future__ import annotations

import io
import itertools
import json
import shutil

import openpyxl
import pytest

import pipeline
from fixtures.ascend import Execution, launch_name, write_database, write_mindspore, write_text
from pipeline.catalog.catalog import Catalog
from pipeline.errors import UsageError
from pipeline.render.console import print_comparison
from tests.support.asking import overall, rows
from tests.support.events import step
from tests.support.traces import SMALL, write

SHAPES = {"text": write_text, "database": write_database, "mindspore": write_mindspore}
# What a mart says about the files of a run, not about the execution.
ABOUT_THE_SOURCE = {"run"}
COMPARED = [
    view.name
    for view in Catalog().marts
    if view.columns[0].name == "run_id" and view.name not in ABOUT_THE_SOURCE | {"problem", "collective_skew"}
]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The three shapes, MindSpore's database, a slower execution and a GPU trace."""
    folder = tmp_path_factory.mktemp("shapes")
    for shape, writer in SHAPES.items():
        pipeline.ingest(writer(Execution(), folder / shape), label=shape, warehouse=folder / "house")
    mindspore = write_database(Execution(), folder / "ms", framework="mindspore")
    pipeline.ingest(mindspore, label="mindspore_database", warehouse=folder / "house")
    pipeline.ingest(write_text(Execution(slower=50_000), folder / "slow"), label="slow", warehouse=folder / "house")
    pipeline.ingest(write(folder / "gpu.json"), label="gpu", warehouse=folder / "house")
    stepped = write(folder / "stepped.json", [*SMALL, step(3, 900_000, 500_000)])
    pipeline.ingest(stepped, label="gpu_with_step", warehouse=folder / "house")
    return folder / "house"


@pytest.mark.parametrize("shape", [*SHAPES, "mindspore_database"])
def test_the_figures_are_those_that_were_laid_out(house, shape):
    found = overall(house, shape)
    answers = Execution().answers
    assert {metric: found[metric] for metric in answers} == answers
    waits = (found[f"Group 10.0.0.1%eth0_60000_0_1760000000 ({part})"] for part in ("Wait", "Transmit"))
    # Of 900,001 ns of waiting on the first plane, 100,001 lie below the second kernel, in each of two steps.
    assert tuple(waits) == (2 * 800_000, answers["Uncovered Communication Time"] - 2 * 800_000)


def found_in(house, view, shape, where="true"):
    columns = ", ".join(column.name for column in Catalog().mart(view).columns if column.name != "run_id")
    return rows(house, f"select {columns} from marts.{view} where run_id = '{shape}' and {where} order by all")


@pytest.mark.parametrize("view", COMPARED)
def test_text_and_database_of_pytorch_give_the_same_rows(house, view):
    assert found_in(house, view, "database") == found_in(house, view, "text")


# What MindSpore's framework does on the host it names otherwise, and it writes no queue.
OF_THE_HOST = {"host_call", "host_time", "operator", "operator_kernel", "memory"}
OF_THE_HOST |= {"memory_entry", "kernel_entry", "kernel_type_entry"}  # by the operators among them


@pytest.mark.parametrize("view", sorted(set(COMPARED) - OF_THE_HOST))
def test_mindspore_says_the_same_of_the_device_as_pytorch(house, view):
    where = "metric <> 'Host Wall Clock'" if view in ("metric", "step_average") else "true"
    assert found_in(house, view, "mindspore", where) == found_in(house, view, "text", where)


@pytest.mark.parametrize("view", ["overall", "kernel_type", "communication", "cann_call"])
def test_mindspores_database_says_the_same_of_the_whole_run(house, view):
    """It has neither steps nor operators nor memory of a framework."""
    where = "step is null" if view != "cann_call" else "true"
    assert found_in(house, view, "mindspore_database", where) == found_in(house, view, "text", where)
    for nothing in ("step", "host_call", "memory"):
        assert found_in(house, nothing, "mindspore_database") == []


@pytest.mark.parametrize("step", [7, 8, None])
def test_operators_and_calls_of_mindspore_are_those_that_were_laid_out(house, step):
    execution = Execution()
    device = {
        span.about["connection"]: span.duration
        for span in (*execution.kernels, *execution.copies, *execution.collectives)
    }
    launches = {
        launch_name(span): span
        for span in execution.operators
        if "connection" in span.about and step in (None, span.about["connection"] // 100)
    }
    assert len(launches) == (8 if step is None else 4)
    where = f"run_id = 'mindspore' and step {'is null' if step is None else f'= {step}'}"
    calls = rows(house, f"select call_name, total_duration_ns from marts.host_call where {where}")
    assert {row["call_name"]: row["total_duration_ns"] for row in calls} == {
        name: span.duration for name, span in launches.items()
    }
    operators = rows(house, f"select operator_name, device_duration_ns from marts.operator where {where}")
    assert {row["operator_name"]: row["device_duration_ns"] for row in operators} == {
        name: device[span.about["connection"]] for name, span in launches.items()
    }


def test_marts_are_not_empty_in_any_shape(house):
    empty = {view for view in COMPARED if not rows(house, f"select 1 from marts.{view} where run_id = 'text' limit 1")}
    # Only the shapes' own: no analysis of communication, no Overlap Analysis, no synchronisation records, no
    # Python functions, and no other rank.
    modules = {"module", "module_entry", "module_operator", "module_sequence"}
    assert empty == {"communication_transport", "overlap_check", "rank_clock", "synchronization"} | modules


SIDES = ["text", "database", "mindspore", "slow", "gpu"]


@pytest.mark.parametrize(("base", "comparison"), list(itertools.combinations_with_replacement(SIDES, 2)))
def test_every_pair_can_be_compared(house, base, comparison):
    result = pipeline.compare(base, comparison, warehouse=house)
    kernels = result.tables["kernel_comparison"].rows.to_pylist()
    assert kernels
    assert result.tables["overall_comparison"].rows.num_rows
    expected = "operator" if (base == "gpu") != (comparison == "gpu") else "kernel" if base == "gpu" else "type"
    assert {row["matched_by"] for row in kernels} == {expected}
    if "slow" in (base, comparison) and base != comparison and "gpu" not in (base, comparison):
        differences = {row["kernel_name"]: row["diff_total_duration_ns"] for row in kernels}
        assert differences["MatMulV2"] == (100_000 if comparison == "slow" else -100_000)


def test_a_view_without_data_on_a_side_says_so_on_screen_and_in_the_sheet(house, tmp_path):
    result = pipeline.compare("gpu", "text", warehouse=house, output=tmp_path)
    screen = io.StringIO()
    print_comparison(result, screen)
    silent = "Nothing was measured in the base: all figures are the other run's."
    for title, sheet in (("Communication", "CommunicationCompare"), ("Memory", "MemoryCompareStatistic")):
        assert f"{title}: {silent}" in screen.getvalue()
        assert openpyxl.load_workbook(result.files[0])[sheet]["A1"].value == f"{title} — {silent}"
    assert "Average step: No rows for these two runs." in screen.getvalue()


def test_a_folder_with_both_reads_the_database_and_says_so(tmp_path):
    text, database = write_text(Execution(), tmp_path / "a"), write_database(Execution(), tmp_path / "b")
    for file in (database / "ASCEND_PROFILER_OUTPUT").iterdir():
        shutil.copy(file, text / "ASCEND_PROFILER_OUTPUT")
    (read,) = pipeline.ingest(text, warehouse=tmp_path / "w")
    assert read.note and "holds text and database; the database was read (--prefer text" in read.note
    (preferred,) = pipeline.ingest(
        text, label="preferred", warehouse=tmp_path / "w", options=pipeline.ReadOptions(prefer="text")
    )
    assert preferred.note and "the text was read" in preferred.note
    formats = {row["run_id"]: row["source_format"] for row in rows(tmp_path / "w", "select * from marts.run")}
    assert formats == {read.run_id: "ascend_database", "preferred": "ascend_text"}
    with pytest.raises(UsageError, match="give one of database, text"):
        pipeline.ingest(text, warehouse=tmp_path / "w", options=pipeline.ReadOptions(prefer="csv"))


def test_a_parent_folder_is_several_ranks_and_any_level_of_a_profile_can_be_named(tmp_path):
    for rank in (0, 1):
        profile = write_text(Execution(), tmp_path / "job" / str(rank)).rename(
            tmp_path / "job" / f"rank{rank}_ascend_pt"
        )
        (profile / "profiler_info_0.json").write_text(
            json.dumps({"config": {"common_config": {}}, "rank_id": str(rank)})
        )
    found = pipeline.ingest(tmp_path / "job", label="job", warehouse=tmp_path / "w")
    assert [run.run_id for run in found] == ["job.r0", "job.r1"]
    output = tmp_path / "job" / "rank1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    (bare,) = pipeline.ingest(output / "trace_view.json", label="bare", warehouse=tmp_path / "w")
    (folder,) = pipeline.ingest(output, label="folder", warehouse=tmp_path / "w")
    answers = Execution().answers
    for run in (bare, folder):
        assert overall(tmp_path / "w", run.run_id)["Computing Time"] == answers["Computing Time"]


def test_single_steps_compare(house):
    with pytest.raises(UsageError, match="has no step 99; it has steps 7, 8"):
        pipeline.compare("text", "slow", warehouse=house, choice=pipeline.Choice(base_step=99))
    result = pipeline.compare("text", "slow", warehouse=house, choice=pipeline.Choice(base_step=7, comparison_step=8))
    (row,) = [r for r in result.tables["kernel_comparison"].rows.to_pylist() if r["kernel_name"] == "MatMulV2"]
    assert (row["base_call_count"], row["diff_total_duration_ns"]) == (1, 50_000)
    result = pipeline.compare(
        "gpu_with_step", "text", warehouse=house, choice=pipeline.Choice(base_step=3, comparison_step=8)
    )
    metrics = {row["metric"]: row for row in result.tables["overall_comparison"].rows.to_pylist()}
    compute = 700_001 + 500_001
    assert metrics["Computing Time"]["diff_duration_ns"] == compute - 10_000  # of the GPU's kernels one has a launch
