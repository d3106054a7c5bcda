"""The README is true: its output is what the command prints, its commands exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from pipeline import cli
from pipeline.catalog.catalog import Catalog
from tests.support.asking import pairs, rows
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = get_group(cli.app).commands


def demo_output(tmp_path, monkeypatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Path("demo-out").mkdir()
    base, new = demo_models()
    write_trace(base, Path("demo-out/base.pt.trace.json.gz"))
    write_trace(new, Path("demo-out/new.pt.trace.json"))
    arguments = ["compare", "demo-out/base.pt.trace.json.gz", "demo-out/new.pt.trace.json", "-o", "demo-out"]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.output
    return [line.rstrip() for line in done.stdout.splitlines()]


def test_the_output_shown_is_what_the_command_prints(tmp_path, monkeypatch):
    block = README.split("<!-- output of: make demo -->\n```\n")[1].split("```")[0]
    shown = [line.rstrip() for line in block.splitlines() if line.strip() not in ("", "…")]
    printed = demo_output(tmp_path, monkeypatch)
    assert len(shown) > 20
    places = [printed.index(line) if line in printed else line for line in shown if not line.startswith("wrote ")]
    assert all(isinstance(place, int) for place in places), [place for place in places if isinstance(place, str)]


@pytest.mark.parametrize("command", sorted(set(re.findall(r"tracemill ([a-z]+)\b", README)) - {"reads"}))
def test_every_command_exists(command):
    assert command in COMMANDS


def test_every_option_and_view_exists():
    options = {name for command in COMMANDS.values() for parameter in command.params for name in parameter.opts}
    for line in README.splitlines():
        if line.startswith("tracemill "):
            assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", line.split("#")[0])) <= options | {"--help"}, line
    views = {f"marts.{view.name}" for view in Catalog().marts}
    views |= {f"marts.{view.name}_of_steps" for view in Catalog().comparisons}
    assert set(re.findall(r"marts\.[a-z_]+", README)) - {"marts.kernel.class_rule"} <= views | {"marts.kernel"}


def test_rows_of_ones_own_tell_devices(tmp_path, monkeypatch):
    """Those that are shown, for a run that is there already."""
    monkeypatch.chdir(tmp_path)
    events = [
        {"cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 0, "dur": 20},
        {"cat": "acc_launch", "name": "launch", "pid": 9, "tid": 9, "ts": 5, "dur": 3, "args": {"correlation": 7}},
        {"cat": "tpc_work", "name": "mm", "pid": 1, "tid": 2, "ts": 30, "dur": 10, "args": {"correlation": 7}},
        {"cat": "DMA_in", "name": "load", "pid": 1, "tid": 3, "ts": 40, "dur": 5},
        {"name": "add", "pid": "Accelerator 1", "tid": "Queue 2", "ts": 45, "dur": 15},
    ]
    Path("t.json").write_text(json.dumps([{"ph": "X"} | event for event in events]))
    pipeline.ingest("t.json", warehouse="house")
    counts = "select not_understood_count, device_activity_count from marts.run"
    assert rows(Path("house"), counts) == [{"not_understood_count": 4, "device_activity_count": 0}]
    Path("house/seeds").mkdir()
    for name in ("event_category", "track"):
        shown = README.split(f"`seeds/{name}.csv`")[1].split("```")[1].strip("\n")
        Path(f"house/seeds/{name}.csv").write_text(shown)
    assert rows(Path("house"), counts) == [{"not_understood_count": 0, "device_activity_count": 3}]
    times = pairs(Path("house"), "select metric, duration_ns from marts.overall where device = 1")
    assert (times["E2E Time"], times["Computing Time"], times["SDMA"]) == (30_000, 25_000, 5_000)
    operators = pairs(Path("house"), "select operator_name, device_duration_ns from marts.operator where step is null")
    assert operators == {"aten::mm": 10_000, "(no launch in the trace)": 20_000}


def test_every_command_is_in_the_readme():
    assert set(COMMANDS) <= set(re.findall(r"tracemill ([a-z]+)\b", README))
