"""A format is one module and one line in the list: the one that CONTRIBUTING.md shows is found, read and compared."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pipeline
from pipeline import cli
from pipeline.errors import LeftOutWarning
from pipeline.extract import recognition
from pipeline.extract.ascend import tables
from pipeline.extract.ascend.columns import From, Layout, text
from pipeline.extract.filename import label_of
from pipeline.extract.source import find_sources
from tests.support import traces
from tests.support.asking import overall, rows
from tests.support.events import op
from tests.support.paths import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
(MODULE,) = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
TOY = "toytrace 1\ngemm 1030000 12000\nadd 1045000 5000\n"


def add(monkeypatch, *formats):
    monkeypatch.setattr(recognition, "FORMATS", (*recognition.FORMATS, *formats))


@pytest.fixture
def toy(tmp_path, monkeypatch):
    path = tmp_path / "toytrace.py"
    path.write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    add(monkeypatch, importlib.import_module("toytrace").FORMAT)
    yield
    del sys.modules["toytrace"]


@pytest.fixture
def job(tmp_path):
    """A folder with a trace of each format, and beside them files that are damaged, and not for this."""
    job = tmp_path / "job"
    traces.write(job / "gpu.json")
    (job / "toy.toytrace").write_text(TOY)
    (job / "damaged.toytrace").write_text("toytr")
    (job / "empty.toytrace").write_text("")
    (job / "notes.txt").write_text(TOY)
    return job


def test_without_its_line_in_the_list_its_files_are_strangers(job):
    found = find_sources(job)
    assert [source.name for source in found.sources] == ["gpu"]
    assert found.left_out == ()


@pytest.mark.usefixtures("toy")
def test_its_files_are_found_in_a_folder_and_damaged_ones_are_named(job):
    found = find_sources(job)
    assert [(source.name, source.format) for source in found.sources] == [("gpu", "kineto"), ("toy", "toytrace")]
    assert [(left.path.name, left.reason) for left in found.left_out] == [
        ("damaged.toytrace", "no trace events in it"),
        ("empty.toytrace", "the file is empty"),
    ]
    assert label_of(Path("rank3.toytrace.gz")) == "rank3"


@pytest.mark.usefixtures("toy")
def test_it_is_a_run_that_compares_with_one_of_another_format(job, tmp_path):
    house = tmp_path / "house"
    (job / "toy.toytrace").write_text(TOY + "no times at all\n")
    with pytest.warns(LeftOutWarning):
        pipeline.ingest(job, warehouse=house)
    formats = {row["run_id"]: row["source_format"] for row in rows(house, "select * from marts.run")}
    assert formats == {"gpu": "kineto", "toy": "toytrace"}
    assert overall(house, "toy")["Computing Time"] == 17_000
    assert [row["kind"] for row in rows(house, "select kind from marts.problem where run_id = 'toy'")] == [
        "event_dropped"
    ]
    kernels = pipeline.compare("gpu", "toy", warehouse=house).tables["kernel_comparison"].rows.to_pylist()
    found = {row["kernel_name"]: row["diff_total_duration_ns"] for row in kernels if row["base_step"] is None}
    assert found == {"gemm": 2_000, "add": 0}
    shown = CliRunner().invoke(cli.app, ["runs", "-w", str(house)])
    assert re.search(r"^ *toy +toy +salvaged", shown.stdout, re.MULTILINE)


@pytest.mark.usefixtures("toy")
def test_what_is_named_as_one_in_a_profile_is_read_with_it_or_told(tmp_path):
    output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "kernel_details.csv").write_text("Name,Accelerator Core,Duration(us)\na,AI_CORE,1\n")
    (output / "a.toytrace").write_text(TOY)
    (output / "b.toytrace").write_text("toytr")
    (source,) = find_sources(tmp_path).sources
    assert [file.name for file in source.files] == ["a.toytrace", "kernel_details.csv"]
    assert source.note == "x_ascend_pt: not read: b.toytrace (nothing here shows what they hold)"


def test_a_table_of_a_profiler_is_one_row(tmp_path, monkeypatch):
    layout = Layout("statistic", {"name": From(text, "Fan")}, {"source": "fans"})
    fans = tables._table("fans", layout, (("Fan", "Speed"),), is_promised=lambda settings: settings.get("fans") == 1)
    monkeypatch.setattr(tables, "TABLES", (*tables.TABLES, fans))
    add(monkeypatch, fans)  # which lists all that the table has, when it is imported
    output = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output / "kernel_details.csv").write_text("Name,Accelerator Core,Duration(us)\na,AI_CORE,1\n")
    (output / "trace_view.json").write_text(traces.array_text([op("a", 1_000, 1_000)]))
    (output.parent / "profiler_info_0.json").write_text('{"config": {"common_config": {}}, "fans": 1}')
    (source,) = find_sources(tmp_path).sources
    assert source.troubles == (("missing_table", ("fans.csv",)),)
    (output / "fans.csv").write_text("a,b\n")
    (source,) = find_sources(tmp_path).sources
    assert source.troubles == (("unreadable_file", ("fans.csv",)),)
    (output / "fans.csv").write_text("Fan,Speed\nleft,3\n")
    (source,) = find_sources(tmp_path).sources
    assert (source.troubles, [file.name for file in source.files][:3]) == (
        (),
        ["trace_view.json", "fans.csv", "kernel_details.csv"],
    )
