"""The memory limit: half of the machine or container, or the size given, in force for queries."""

from __future__ import annotations

import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from pipeline.errors import UsageError
from pipeline.load import derivation, memory
from tests import traces


def test_half_of_the_container_where_that_is_less(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", (limit,))
    limit.write_text("max\n")
    whole = memory.available_bytes()
    limit.write_text(f"{64 << 20}\n")
    assert memory.available_bytes() == 64 << 20 < whole
    assert memory.memory_limit() == "32MiB"


@pytest.mark.parametrize("size", ["2GB", "512MiB", " 1.5 gb "])
def test_a_size_is_a_number_and_a_unit(size):
    assert memory.memory_limit(size) == size.strip()


@pytest.mark.parametrize("size", ["2", "GB", "2GB; attach 'x'", "-1GB", ""])
def test_anything_else_is_refused(size):
    with pytest.raises(UsageError, match="no size"):
        memory.memory_limit(size)


def test_results_that_do_not_fit_take_what_queries_may(tmp_path, monkeypatch):
    write_trace(demo_models()[0], tmp_path / "t.json", None, 2_000_000)
    monkeypatch.setattr(derivation, "LARGE_RUN_BYTES", 0)  # such a run is a large one
    found = []
    for mebibytes in (640, 4):
        monkeypatch.setattr(derivation, "DERIVE_MEMORY", mebibytes << 20)
        house = tmp_path / str(mebibytes)
        pipeline.ingest(tmp_path / "t.json", warehouse=house)
        found.append(pipeline.query("select * from marts.module order by all", warehouse=house).to_pylist())
    assert found[0] == found[1] != []


def test_the_limit_is_in_force(tmp_path):
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "house", memory="300MB")
    rows = pipeline.query("select current_setting('memory_limit') as m", warehouse=tmp_path / "house", memory="300MB")
    assert rows.to_pylist() == [{"m": "286.1 MiB"}]
