"""The memory limit: half of the machine or container, or the size given, for queries; less, and rising, to derive."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import cast

import duckdb
import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from pipeline.errors import UsageError
from pipeline.warehouse import derivation, machine, querypool, warehouse
from pipeline.warehouse.derivation import RisingMemory
from tests.support import traces


def test_half_of_the_container_where_that_is_less(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine, "_CGROUP_LIMITS", (limit,))
    limit.write_text("max\n")
    whole = machine.available_bytes()
    limit.write_text(f"{64 << 20}\n")
    assert machine.available_bytes() == 64 << 20 < whole
    assert machine.memory_limit() == "32MiB"


@pytest.mark.parametrize("size", ["2GB", "512MiB", " 1.5 gb "])
def test_a_size_is_a_number_and_a_unit(size):
    assert machine.memory_limit(size) == size.strip()


@pytest.mark.parametrize("size", ["2", "GB", "2GB; attach 'x'", "-1GB", ""])
def test_anything_else_is_refused(size):
    with pytest.raises(UsageError, match="not a size"):
        machine.memory_limit(size)


@pytest.mark.parametrize(
    ("half", "limits"),
    [(3_000, ["640MiB", "1280MiB", "2560MiB", "3000MiB"]), (1_280, ["640MiB", "1280MiB"]), (512, ["640MiB"])],
)
def test_limits_rise_by_doubling_up_to_what_queries_may_take(monkeypatch, half, limits):
    monkeypatch.setattr(machine, "available_bytes", lambda: 2 * half << 20)
    assert machine.rising_limits(640 << 20) == limits
    assert machine.rising_limits(640 << 20, "2GB") == ["2GB"]


def test_results_that_do_not_fit_take_more(tmp_path, monkeypatch):
    write_trace(demo_models()[0], tmp_path / "t.json", None, 2_000_000)
    monkeypatch.setattr(querypool, "LARGE_RUN_BYTES", 0)  # such a run is a large one
    found = []
    for mebibytes in (640, 4):
        monkeypatch.setattr(derivation, "DERIVE_MEMORY", mebibytes << 20)
        house = tmp_path / str(mebibytes)
        pipeline.ingest(tmp_path / "t.json", warehouse=house)
        found.append(pipeline.query("select * from marts.module order by all", warehouse=house).to_pylist())
    assert found[0] == found[1] != []


# A list cannot spill. It tells the limit that it was built under.
LIST = """
    create or replace table built as
    select current_setting('memory_limit') as within, len(list(i)) as size from range(2_000_000) as t (i)"""
LIMITS = ["16.0 MiB", "32.0 MiB", "64.0 MiB", "128.0 MiB", "256.0 MiB", "512.0 MiB"]


@pytest.fixture
def scarce(tmp_path):
    """A database with the lowest of the limits, and what tells its limit."""
    with duckdb.connect(config={"memory_limit": LIMITS[0], "temp_directory": str(tmp_path)}) as connection:
        yield connection, lambda: connection.execute("select current_setting('memory_limit')").fetchall()[0][0]


def test_the_limit_rises_no_further_than_is_needed_and_goes_back(scarce):
    connection, limit = scarce
    RisingMemory(LIMITS).run(connection, lambda: connection.execute(LIST))
    ((within, size),) = connection.execute("from built").fetchall()
    assert (size, limit()) == (2_000_000, LIMITS[0])
    lower = LIMITS[: LIMITS.index(within)]
    assert lower
    with pytest.raises(duckdb.OutOfMemoryException):
        RisingMemory(lower).run(connection, lambda: connection.execute(LIST))
    assert limit() == LIMITS[0]


def test_one_result_at_a_time_has_a_raised_limit(scarce):
    """Two that run out together: the second rises from the lowest limit again, when the first has its result."""
    together, log = Barrier(2), []

    class Logged:
        """A connection that runs out of memory below 64 MiB."""

        def __init__(self, name):
            self.name, self.limit = name, None

        def execute(self, statement):
            log.append((self.name, statement))
            if statement.startswith("set"):
                self.limit = statement
            elif self.limit is None:
                together.wait(10)
            if not statement.startswith("set") and LIMITS[2] not in (self.limit or ""):
                raise duckdb.OutOfMemoryException

    def write(rising, connection):
        rising.run(connection, lambda: connection.execute("copy"))

    rising = RisingMemory(LIMITS)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: write(rising, cast(duckdb.DuckDBPyConnection, Logged(name))), "ab"))
    sets = [f"set memory_limit = '{limit}'" for limit in (*LIMITS[1:3], LIMITS[0])]
    raised = [sets[0], "copy", sets[1], "copy", sets[2]]
    first, second = log[2][0], log[-1][0]
    assert sorted([first, second]) == ["a", "b"]
    assert log[2:] == [(first, statement) for statement in raised] + [(second, statement) for statement in raised]


def test_the_limit_is_in_force(tmp_path):
    pipeline.ingest(
        traces.write(tmp_path / "t.json"), warehouse=tmp_path / "house", options=pipeline.ReadOptions(memory="300MB")
    )
    rows = pipeline.query("select current_setting('memory_limit') as m", warehouse=tmp_path / "house", memory="300MB")
    assert rows.to_pylist() == [{"m": "286.1 MiB"}]


def test_queries_have_all_of_a_limited_memory_one_after_another_and_so_have_those_of_large_runs(tmp_path, monkeypatch):
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "house")
    assert warehouse.Warehouse(tmp_path / "house", threads=8).at_once(["t"]) == 8
    assert warehouse.Warehouse(tmp_path / "house", "2GB", threads=8).at_once(["t"]) == 1
    monkeypatch.setattr(querypool, "LARGE_RUN_BYTES", 0)
    assert warehouse.Warehouse(tmp_path / "house", threads=8).at_once(["t"]) == 1
