"""The command line: exit codes, messages, formats, options."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pipeline
from pipeline import cli
from tests.support import traces
from tests.support.events import kernel, step


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments):
        return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])

    return call


def test_compare_prints_the_headline_and_writes_files(run, tmp_path):
    base = traces.write(tmp_path / "base.json")
    new = traces.write(tmp_path / "new.json", [*traces.SMALL, kernel("slow", 1_060_000, 40_000)])
    done = run("compare", base, new, "-o", "out")
    assert done.exit_code == 0, done.output
    assert "E2E Time (whole run): 20.000 µs → 70.000 µs, ×3.500, 50.000 µs slower" in done.stdout
    assert "\x1b" not in done.stdout  # no colours in a pipe
    written = [line.split(" ", 1)[1] for line in done.stdout.splitlines() if line.startswith("wrote ")]
    assert [Path(path).suffix for path in written] == [".xlsx", ".html"]
    assert all(Path(path).exists() for path in written)
    assert (tmp_path / "tracemill-warehouse").is_dir()
    again = run("compare", "base", "new", "--no-xlsx", "--no-html", "--top", "1", "--only", "kernel")
    assert again.exit_code == 0
    assert "wrote" not in again.stdout
    assert "slow" in again.stdout
    assert "top regressions, 1 of 3 rows" in again.stdout


def test_the_warehouse_comes_from_the_option_then_the_environment(run, tmp_path, monkeypatch):
    source = traces.write(tmp_path / "t.json")
    monkeypatch.setenv("TRACEMILL_WAREHOUSE", str(tmp_path / "from-environment"))
    assert run("ingest", source).exit_code == 0
    assert (tmp_path / "from-environment" / "warehouse.duckdb").exists()
    assert run("ingest", source, "-w", "given").exit_code == 0
    assert (tmp_path / "given").is_dir()
    assert not (tmp_path / "tracemill-warehouse").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["compare", "nothing", "nobody"], 2, "neither a file or folder nor a run"),
        (["compare", "t.json", "t.json", "--base-step", "3"], 2, "no step 3"),
        (["compare", "t.json", "t.json", "--only", "nothing"], 2, "there are: communication_comparison"),
        (["compare", "t.json"], 2, "Missing argument"),
        (["describe", "nothing"], 2, "no view"),
        (["ingest", "bad.json"], 3, "not JSON"),
        (["ingest", "missing.json"], 3, "no such file"),
        (["ingest", "empty"], 3, "no trace in this folder"),
        (["ingest", "cut.json", "--strict"], 3, "--strict"),
        (["runs", "-w", "nowhere"], 4, "no warehouse here"),
        (["sql", "drop table x", "-w", "house"], 2, "exactly one SELECT"),
    ],
)
def test_errors_are_one_line_and_a_code(run, tmp_path, arguments, code, message):
    traces.write(tmp_path / "t.json")
    (tmp_path / "bad.json").write_text("hello")
    (tmp_path / "cut.json").write_text('{"traceEvents": [{"ph": "X"}, {"ph"')
    (tmp_path / "empty").mkdir()
    if "house" in arguments:
        run("ingest", "t.json", "-w", "house")
    done = run(*arguments)
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_debug_shows_the_traceback(run):
    done = run("ingest", "missing.json", "--debug")
    assert done.exit_code != 0
    assert done.exc_info[0].__name__ == "InputError"


def test_a_mended_trace_warns_once_a_kind_with_a_count(run, tmp_path):
    (tmp_path / "t.json").write_text(
        '{"traceEvents": [{"ph":"C","args":{"a":NaN,"b":inf}}, {"ph":"C","args":{"a":nan}}'
    )
    done = run("ingest", "t.json")
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "warning: t: 3 × NaN or infinite values were stored as NULL (first: event 0)",
        "warning: t: 1 × the file ends inside the event array; complete events were kept (first: no closing bracket)",
    ]


def test_sql_formats(run, tmp_path):
    run("ingest", traces.write(tmp_path / "t.json"))
    query = (
        "select name, duration_ns, args->>'correlation' as c, 'a|b' as pipe"
        " from raw.event where category = 'kernel' order by event_index"
    )
    found = json.loads(run("sql", query, "--format", "json").stdout)
    assert found == [
        {"name": "gemm", "duration_ns": 10_000, "c": "41", "pipe": "a|b"},
        {"name": "add", "duration_ns": 5_000, "c": None, "pipe": "a|b"},
    ]
    assert list(csv.reader(io.StringIO(run("sql", query, "-f", "csv").stdout)))[1] == ["gemm", "10000", "41", "a|b"]
    markdown = run("sql", query, "-f", "markdown").stdout.splitlines()
    assert markdown[:3] == [
        "| name | duration_ns | c | pipe |",
        "| --- | --- | --- | --- |",
        "| gemm | 10000 | 41 | a\\|b |",
    ]
    assert "gemm" in run("sql", query).stdout
    assert json.loads(run("sql", "select 1 where false", "-f", "json").stdout) == []


def test_runs_steps_views_describe(run, tmp_path):
    run("ingest", traces.write(tmp_path / "t.json", [step(3, 990_000, 100_000), *traces.SMALL]), "--label", "v1")
    assert "v1" in run("runs").stdout
    assert "100.000 µs" in run("steps", "v1").stdout
    assert run("steps", "v9").exit_code == 2
    assert "marts.kernel_comparison" in run("views").stdout
    described = run("describe", "kernel").stdout
    assert described.startswith("## marts.kernel")
    assert "| total_duration_ns | duration_ns |" in described
    assert "catalog" in run("--version").stdout


def test_names_in_a_trace_cannot_write_escape_sequences_to_a_terminal(run, tmp_path):
    base = traces.write(tmp_path / "base.json")
    new = traces.write(tmp_path / "new.json", [*traces.SMALL, kernel("\x1b[2Jevil\x07", 1_060_000, 40_000)])
    for done in (run("compare", base, new, "--no-xlsx", "--no-html"), run("sql", "select name from raw.event")):
        assert "\ufffd[2Jevil\ufffd" in done.stdout
        assert "\x1b" not in done.stdout


def test_the_start_of_a_command_imports_no_more_than_its_help_needs():
    heavy = "{'duckdb', 'pyarrow', 'jinja2', 'xlsxwriter', 'rich.table', 'pipeline.api'}"
    code = f"import sys, pipeline.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_the_package_offers_is_there_when_it_is_asked_for():
    assert all(getattr(pipeline, name) for name in pipeline.__all__)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        pipeline.other  # noqa: B018
