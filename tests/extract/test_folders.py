"""What of a folder is read, and that nothing that looks like a profile is passed over without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import pipeline
from pipeline import cli
from pipeline.errors import InputError, LeftOutWarning
from pipeline.extract.source import find_sources
from tests.support import traces

LARGE: dict[str, Any] = {
    "distributedInfo": {"rank": 3, "world_size": 90_000, "pg_config": [{"ranks": list(range(300_000))}]}
}


@pytest.mark.parametrize("name", ["rank3.json", "rank3.json.gz"])
def test_a_rank_whose_metadata_is_larger_than_a_block_is_taken(tmp_path, name):
    traces.write(tmp_path / name, **LARGE)
    (source,) = find_sources(tmp_path).sources
    (run,) = pipeline.ingest(tmp_path, label="job", warehouse=tmp_path / "house")
    assert (source.path.name, run.run_id, run.problems) == (name, "job", ())


def test_an_array_that_begins_with_a_huge_event_is_taken(tmp_path):
    events = [{"args": {"stack": "x" * (3 << 20)}, "ph": "X", "name": "a", "ts": 1, "dur": 1}]
    (tmp_path / "events.json").write_text(json.dumps(events))
    assert [source.name for source in find_sources(tmp_path).sources] == ["events"]


def test_what_looks_like_a_trace_and_is_none_is_named_with_the_reason(tmp_path):
    traces.write(tmp_path / "rank0.json")
    (tmp_path / "rank1.json").write_text("")
    (tmp_path / "host_7.pt.trace.json.gz").write_text('{"schemaVersion": 1}')
    (tmp_path / "config.json").write_text('{"hidden_size": 8}')
    (tmp_path / "notes.txt").write_text("rank")
    found = find_sources(tmp_path)
    assert [source.name for source in found.sources] == ["rank0"]
    assert [(left.path.name, left.reason) for left in found.left_out] == [
        ("host_7.pt.trace.json.gz", "no trace events in it"),
        ("rank1.json", "the file is empty"),
    ]


def test_what_is_left_out_is_a_warning_and_an_error_with_strict(tmp_path):
    traces.write(tmp_path / "job" / "rank0.json")
    (tmp_path / "job" / "rank1.json").write_text("")
    with pytest.warns(LeftOutWarning, match=r"rank1\.json: not read: the file is empty"):
        (run,) = pipeline.ingest(tmp_path / "job", warehouse=tmp_path / "house")
    with pytest.raises(InputError, match=r"--strict was given, and .*rank1\.json: not read"):
        pipeline.ingest(tmp_path / "job", warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))
    with pytest.warns(LeftOutWarning):
        pipeline.compare(tmp_path / "job", run.run_id, warehouse=tmp_path / "house")
    arguments = ["ingest", str(tmp_path / "job"), "-w", str(tmp_path / "house2")]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0
    assert f"warning: {tmp_path / 'job' / 'rank1.json'}: not read: the file is empty\n" in done.stderr
    done = CliRunner().invoke(cli.app, [*arguments, "--strict"])
    assert done.exit_code == 3


def test_where_nothing_is_read_the_error_says_why(tmp_path):
    (tmp_path / "rank1.json").write_text("")
    with pytest.raises(InputError, match=r"no trace in this folder \(.*rank1\.json: not read: the file is empty\)"):
        find_sources(tmp_path)
