"""Given inputs about how traces are written and handed over, with the outcome in their `expected.md`."""

from __future__ import annotations

import pytest

import pipeline
from tests.support.asking import overall, rows
from tests.support.paths import CASES, needs_shared

pytestmark = needs_shared
CONTAINERS = ["bom.json", "plain.json", "plain.json.xz", "plain.json.zst", "trace.pt.trace.zip", "trace.tar.gz"]


@pytest.mark.parametrize("name", [*CONTAINERS, "utf16.json"])
def test_113_traces_are_read_out_of_what_they_are_handed_over_in(tmp_path, name):
    (run,) = pipeline.ingest(CASES / "113-containers" / name, warehouse=tmp_path)
    assert overall(tmp_path, run.run_id)["Computing Time"] == 40_000
    assert run.problems == ()


@pytest.mark.parametrize("name", ["dir", "dir/rank3.json.gz"])
def test_119_file_and_folder_with_large_metadata_are_read_alike(tmp_path, name):
    (run,) = pipeline.ingest(CASES / "119-large-metadata" / name, warehouse=tmp_path)
    assert rows(tmp_path, "select rank, world_size from marts.run") == [{"rank": 3, "world_size": 24_000}]
    assert overall(tmp_path, run.run_id)["Computing Time"] == 40_000
