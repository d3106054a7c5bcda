"""Ingest and compare: run ids, labels, bad input, steps, options."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pipeline
from pipeline import api
from pipeline.comparison import tables
from pipeline.errors import InputError, UsageError
from pipeline.warehouse.warehouse import Warehouse
from tests.support import traces
from tests.support.asking import overall, pairs, rows
from tests.support.events import event, kernel, memory, op, overlap, step, tracks


@pytest.fixture
def house(tmp_path):
    return tmp_path / "house"


def test_a_run_is_named_after_its_file_and_is_ingested_once(tmp_path, house):
    source = traces.write(tmp_path / "base.pt.trace.json.gz")
    (first,) = pipeline.ingest(source, warehouse=house)
    (again,) = pipeline.ingest(source, warehouse=house)
    assert (first.run_id, first.is_new, again.run_id, again.is_new) == ("base", True, "base", False)
    copy = tmp_path / "elsewhere" / "base.pt.trace.json.gz"
    copy.parent.mkdir()
    shutil.copy(source, copy)
    (moved,) = pipeline.ingest(copy, warehouse=house)
    assert (moved.run_id, moved.is_new) == ("base", False)  # the same content under the same label
    (other,) = pipeline.ingest(copy, label="other", warehouse=house)
    assert (other.run_id, other.is_new) == ("other", True)


def test_ranks_of_one_label_have_ids_of_their_own(tmp_path, house):
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in (0, 1):
        traces.write(folder / f"trace-{rank}.json", distributedInfo={"rank": rank, "world_size": 2})
    traces.write(folder / "rank2.json")
    (folder / "settings.json").write_text('{"not": "a trace"}')
    done = pipeline.ingest(folder, label="v2.3", warehouse=house)
    assert sorted(run.run_id for run in done) == ["v2.3.r0", "v2.3.r1", "v2.3.r2"]
    with pytest.raises(UsageError, match=r"names 3 runs; give one of: v2\.3\.r0, v2\.3\.r1, v2\.3\.r2"):
        pipeline.compare("v2.3", "v2.3.r0", warehouse=house)


def test_two_inputs_that_would_meet_get_a_hash(tmp_path, house):
    for name, dur in (("a", 1_000), ("b", 2_000)):
        (tmp_path / name).mkdir()
        traces.write(tmp_path / name / "trace.json", [kernel("k", 0, dur)])
    (a,) = pipeline.ingest(tmp_path / "a", warehouse=house)
    (b,) = pipeline.ingest(tmp_path / "b", warehouse=house)
    assert a.run_id == "trace"
    assert b.run_id.startswith("trace-")
    assert len(b.run_id) == len("trace-") + 8


def test_an_edited_file_is_another_run(tmp_path, house):
    source = traces.write(tmp_path / "t.json")
    pipeline.ingest(source, warehouse=house)
    traces.write(source, [kernel("k", 0, 1_000)])
    (edited,) = pipeline.ingest(source, warehouse=house)
    assert edited.is_new
    assert edited.run_id.startswith("t-")


def test_a_named_category_of_flows_makes_a_run_of_its_own(tmp_path, house):
    def flow(category, at):
        return [
            event(category, "flow", at, None, phase="s", flow_id="1"),
            event(category, "flow", 1_030_000, None, phase="f", flow_id="1", pid=0, tid=7),
        ]

    events = [op("aten::mm", 1_000_000, 5_000), op("aten::add", 1_010_000, 5_000), kernel("k", 1_030_000, 10_000)]
    source = traces.write(tmp_path / "t.json", [*events, *flow("a", 1_002_000), *flow("b", 1_012_000)])
    operator = "select run_id, operator_name from intermediate.int_device_activity"
    (plain,) = pipeline.ingest(source, warehouse=house)
    (named,) = pipeline.ingest(source, warehouse=house, options=pipeline.ReadOptions(flow_category="B"))
    assert (named.is_new, named.problems) == (True, ())
    assert pairs(house, operator) == {plain.run_id: "aten::mm", named.run_id: "aten::add"}
    for category, run in ((None, plain), ("B", named)):
        (again,) = pipeline.ingest(source, warehouse=house, options=pipeline.ReadOptions(flow_category=category))
        assert (again.run_id, again.is_new) == (run.run_id, False)
    (absent,) = pipeline.ingest(source, warehouse=house, options=pipeline.ReadOptions(flow_category="c", strict=True))
    assert "links no device activity" in absent.problems[0]
    compared = pipeline.compare(source, source, warehouse=house, options=pipeline.ReadOptions(flow_category="B"))
    assert compared.base.run["run_id"] == named.run_id
    with pytest.raises(UsageError, match="--gpu-flow-cat"):
        pipeline.compare(plain.run_id, named.run_id, warehouse=house, options=pipeline.ReadOptions(flow_category="a"))


def test_a_label_that_is_no_file_name_is_kept_and_escaped(tmp_path, house):
    (run,) = pipeline.ingest(traces.write(tmp_path / "t.json"), label="v2/3 ünï'x", warehouse=house)
    assert run.run_id == "v2_3_ünï_x"
    assert rows(house, "select label from marts.run") == [{"label": "v2/3 ünï'x"}]


@pytest.mark.parametrize("label", [".", "..", "../../x", "%2e%2e"])
def test_a_label_never_leaves_the_warehouse(tmp_path, house, label):
    pipeline.ingest(traces.write(tmp_path / "t.json"), label=label, warehouse=house)
    assert {path.name for path in tmp_path.iterdir()} == {"t.json", "house"}
    assert [row["label"] for row in rows(house, "select label from marts.run")] == [label]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"nonsense", "not JSON"),
        (b"{}", "traceEvents"),
        (b"\x1f\x8b\x08nonsense", "no event before the damage"),
    ],
)
def test_bad_input_names_the_file_and_leaves_the_rest(tmp_path, house, content, message):
    pipeline.ingest(traces.write(tmp_path / "good.json"), warehouse=house)
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        pipeline.ingest(bad, warehouse=house)
    assert str(bad) in str(error.value)
    assert rows(house, "select run_id from marts.run") == [{"run_id": "good"}]
    assert not list((house / "tmp").iterdir())
    assert {path.name for path in (house / "runs").iterdir()} == {"good"}


def test_a_folder_without_traces_and_a_missing_path_say_so(tmp_path, house):
    with pytest.raises(InputError, match="no trace in this folder"):
        pipeline.ingest(tmp_path, warehouse=house)
    with pytest.raises(InputError, match="no such file or folder"):
        pipeline.ingest(tmp_path / "nothing", warehouse=house)
    with pytest.raises(UsageError, match="neither a file or folder nor a run"):
        pipeline.compare("v1", "v2", warehouse=house)


def test_a_step_that_does_not_exist_lists_those_that_do(tmp_path, house):
    stepped = [step(4, 900_000, 300_000), step(5, 1_300_000, 100_000), *traces.SMALL]
    pipeline.ingest(traces.write(tmp_path / "stepped.json", stepped), warehouse=house)
    pipeline.ingest(traces.write(tmp_path / "plain.json"), warehouse=house)
    with pytest.raises(UsageError, match="no step 9; it has steps 4, 5"):
        pipeline.compare("stepped", "plain", warehouse=house, choice=pipeline.Choice(base_step=9))
    with pytest.raises(UsageError, match="no step 1; it has no steps"):
        pipeline.compare("stepped", "plain", warehouse=house, choice=pipeline.Choice(comparison_step=1))
    result = pipeline.compare(
        "stepped", "plain", warehouse=house, choice=pipeline.Choice(base_step=4)
    )  # a step with a whole run
    headline = {row["metric"]: row for row in result.tables["headline_comparison"].rows.to_pylist()}
    assert headline["E2E Time"]["base_duration_ns"] == 10_000  # gemm alone: add has no launch, so no step
    assert headline["E2E Time"]["comparison_duration_ns"] == 20_000


def test_only_and_skip_choose_views_by_name(tmp_path, house):
    source = traces.write(tmp_path / "t.json")
    result = pipeline.compare(
        source, source, warehouse=house, choice=pipeline.Choice(only=["kernel", "headline_comparison"])
    )
    assert list(result.tables) == ["headline_comparison", "kernel_comparison"]
    assert (
        "kernel_comparison"
        not in pipeline.compare(source, source, warehouse=house, choice=pipeline.Choice(skip=["kernel"])).tables
    )
    with pytest.raises(UsageError, match=r"no comparison 'kernels'; there are: .*kernel_comparison"):
        pipeline.compare(source, source, warehouse=house, choice=pipeline.Choice(only=["kernels"]))


def test_a_run_compared_with_itself_has_no_difference(tmp_path, house):
    source = traces.write(tmp_path / "t.json")
    result = pipeline.compare(source, source, warehouse=house)
    for table in result.tables.values():
        for row in table.rows.to_pylist():
            assert not any(value for name, value in row.items() if name.startswith("diff_")), (table.view.name, row)
            assert all(row[name] in (1.0, None) for name in row if name.startswith("ratio_"))


def test_what_neither_run_has_is_not_looked_for(tmp_path, house, monkeypatch):
    asked = {}
    plain, allocating = tmp_path / "plain.json", tmp_path / "allocating.json"
    traces.write(plain)
    traces.write(allocating, [*traces.SMALL, memory(64, 1_010_000)])
    pipeline.ingest([plain, allocating], warehouse=house)

    def fetch(connection, query, parameters):
        asked[query.split()[3]] = query
        return connection.sql(query, params=parameters).to_arrow_table()

    monkeypatch.setattr(tables, "fetch", fetch)
    without = pipeline.compare("plain", "plain", warehouse=house).tables["memory_detail_comparison"]
    assert "where false" in asked["marts.memory_detail_comparison"]
    assert "where false" not in asked["marts.operator_detail_comparison"]
    either = pipeline.compare("plain", "allocating", warehouse=house).tables["memory_detail_comparison"]
    assert "where false" not in asked["marts.memory_detail_comparison"]
    assert [row["comparison_allocated_bytes"] for row in either.rows.to_pylist()] == [64]
    assert without.rows.num_rows == 0
    assert without.rows.schema == either.rows.schema
    # What is left out is what the view says where it is asked.
    for view in pipeline.views().comparisons:
        if view.requires:
            scope = "base_run_id = 'plain' and comparison_run_id = 'plain'"
            assert rows(house, f"select * from {view.qualified} where {scope}") == []


@pytest.mark.parametrize("failure", [UsageError, KeyboardInterrupt])
def test_what_ends_one_query_or_the_wait_for_them_ends_all(tmp_path, house, monkeypatch, failure):
    source = traces.write(tmp_path / "t.json")

    def rows_of(connection, view, sides):
        if view.name == "step_comparison" and failure is UsageError:
            raise failure
        # Would take days.
        connection.execute("select count(*) from range(1_000_000_000_000) where random() > 2")

    def interrupted(files):
        raise failure

    monkeypatch.setattr(tables, "_rows", rows_of)
    monkeypatch.setattr(Warehouse, "at_once", lambda house, run_ids: 8)
    if failure is KeyboardInterrupt:
        monkeypatch.setattr(api, "writers", interrupted)
    with pytest.raises(failure):
        pipeline.compare(source, source, warehouse=house, output=tmp_path)


def test_a_host_only_trace_compares_and_says_why_the_split_is_empty(tmp_path, house):
    host = traces.write(tmp_path / "host.json", [op("aten::empty", 0, 4_000), op("aten::add", 10_000, 5_000)])
    device = traces.write(tmp_path / "device.json")
    result = pipeline.compare(host, device, warehouse=house)
    assert any(note.startswith("host: no device activity") for note in result.notes)
    split = overall(house, "host")
    assert set(split) == {"E2E Time", "Computing Time", "Uncovered Communication Time", "Free Time", "SDMA", "Free"}
    assert set(split.values()) == {None}  # not measured is not 0
    calls = pairs(
        house, "select call_name, self_duration_ns from marts.host_call where run_id = 'host' and step is null"
    )
    assert calls == {"aten::empty": 4_000, "aten::add": 5_000}
    operators = rows(house, "select distinct device_duration_ns from marts.operator where run_id = 'host'")
    assert operators == [{"device_duration_ns": None}]


ANALYSIS = traces.array_text([tracks(), overlap(0, 100_000, 5_000)])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("analysis.json", ANALYSIS, "no device activity in this trace, only the profiler's Overlap Analysis"),
        ("op_statistic.csv", "OP Type,Core Type,Total Time(us)\nAdd,AI_CORE,5\n", "no device activity in this profile"),
        ("api_statistic.csv", "Level,API Name,Time(us),Count\nacl,aclrtMalloc,5,1\n", "no device activity"),
    ],
)  # fmt: skip
def test_what_is_known_of_devices_without_their_activities_is_said_before_the_figures(
    tmp_path, house, name, content, said
):
    (tmp_path / name).write_text(content)
    result = pipeline.compare(tmp_path / name, traces.write(tmp_path / "device.json"), warehouse=house)
    (note,) = [note for note in result.notes if "device" in note]
    assert note.startswith(f"{Path(name).stem}: {said}")


def test_a_salvaged_run_is_marked_and_its_problems_are_rows(tmp_path, house):
    quarantined = kernel("lost", 1_050_000, None)
    source = traces.write(tmp_path / "t.json", [*traces.SMALL, quarantined])
    (run,) = pipeline.ingest(source, warehouse=house)
    assert rows(house, "select status, problem_count from marts.run") == [{"status": "salvaged", "problem_count": 1}]
    assert rows(house, "select kind, problem_count, event_index, detail from marts.problem") == [
        {"kind": "no_time", "problem_count": 1, "event_index": 4, "detail": "lost: no duration"}
    ]
    assert len(run.problems) == 1
    assert overall(house, "t")["E2E Time"] == 20_000
    result = pipeline.compare("t", "t", warehouse=house)
    assert result.base.title == "t [salvaged]"
    assert any("quarantined" in note for note in result.notes)
    with pytest.raises(InputError, match="quarantined"):
        pipeline.ingest(source, label="strictly", warehouse=house, options=pipeline.ReadOptions(strict=True))
    assert rows(house, "select run_id from marts.run") == [{"run_id": "t"}]


def test_a_query_is_one_select(tmp_path, house):
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    assert rows(house, "select 1 as a") == [{"a": 1}]
    assert rows(house, "explain select 1")
    for sql, message in {
        "select 1; select 2": "exactly one SELECT",
        "copy (select 1) to 'x.csv'": "exactly one SELECT",
        "explain analyze copy (select 1) to 'x.csv'": "explained",
        "attach 'x.db'": "exactly one SELECT",
        "set enable_external_access = true": "exactly one SELECT",
        "create table x (a int)": "exactly one SELECT",
        f"select * from read_csv('{secret}')": "Permission",
        f"select * from '{secret}'": "Permission|does not exist",
        "select * from read_text('/etc/passwd')": "Permission",
        "select * from glob('/etc/*')": "Permission",
        "selec 1": "syntax",
        "": "exactly one SELECT",
    }.items():
        with pytest.raises(UsageError, match=message):
            pipeline.query(sql, warehouse=house)
