"""Results are computed when a command first needs them; one that is missing is an error, never an empty table."""

from __future__ import annotations

import duckdb
import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from pipeline.catalog.catalog import Catalog
from pipeline.errors import InputError
from pipeline.warehouse.views import new_database
from pipeline.warehouse.warehouse import Warehouse
from tests.support import traces
from tests.support.asking import rows

LAZY = pipeline.ReadOptions(lazy=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lazy")
    found = [folder / "v1.json", folder / "v2.json"]
    for model, path in zip(demo_models(), found, strict=True):
        write_trace(model, path)
    return found


def computed(house, run_id):
    return {path.parent.name.partition("@")[0] for path in (house / "derived").glob(f"*/run_id={run_id}")}


def results_of(*names):
    catalog = Catalog()
    return {view.name for view in catalog.results([catalog.mart(name) for name in names])}


def test_a_lazy_ingest_only_reads(tmp_path, sources):
    pipeline.ingest(sources, warehouse=tmp_path, options=LAZY)
    assert not (tmp_path / "derived").exists()
    assert rows(tmp_path, "select count(*) > 100 as many from raw.event") == [{"many": True}]


def test_a_comparison_computes_what_its_tables_read_and_no_more(tmp_path, sources):
    shown = pipeline.compare(*sources, warehouse=tmp_path, choice=pipeline.Choice(only=["overall"]))
    wanted = results_of("overall_comparison", "run", "step", "problem")
    assert computed(tmp_path, "v1") == computed(tmp_path, "v2") == wanted
    assert "kernel" not in wanted
    everything = pipeline.compare(*sources, warehouse=tmp_path)
    assert everything.tables["overall_comparison"].rows == shown.tables["overall_comparison"].rows


def test_a_query_finds_the_same_rows_as_after_an_ingest_that_computes_all(tmp_path, sources):
    pipeline.ingest(sources, warehouse=tmp_path / "lazy", options=LAZY)
    pipeline.ingest(sources, warehouse=tmp_path / "eager")
    query = "select * from marts.kernel order by all"
    assert rows(tmp_path / "lazy", query) == rows(tmp_path / "eager", query) != []
    assert computed(tmp_path / "lazy", "v1") == {view.name for view in Catalog().materialized}


def test_in_other_clients_a_missing_result_is_an_error(tmp_path, sources):
    pipeline.compare(*sources, warehouse=tmp_path, choice=pipeline.Choice(only=["overall"]))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) from marts.overall").fetchall() != [(0,)]
        with pytest.raises(duckdb.InvalidInputException, match="not computed yet for run v1 and 1 more; tracemill sql"):
            connection.execute("select * from marts.kernel")


def test_a_lazy_run_does_not_stand_in_the_way_of_others(tmp_path, sources):
    pipeline.ingest(sources, warehouse=tmp_path)
    before = pipeline.compare("v1", "v2", warehouse=tmp_path)
    pipeline.ingest(sources[0], label="late", warehouse=tmp_path, options=LAZY)
    after = pipeline.compare("v1", "v2", warehouse=tmp_path)
    assert {name: table.rows for name, table in after.tables.items()} == {
        name: table.rows for name, table in before.tables.items()
    }
    assert computed(tmp_path, "late") == set()


def test_an_ingest_that_is_not_lazy_computes_what_a_lazy_one_left(tmp_path, sources):
    pipeline.ingest(sources[0], warehouse=tmp_path, options=LAZY)
    (again,) = pipeline.ingest(sources[0], warehouse=tmp_path)
    assert not again.is_new
    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) > 0 from marts.kernel").fetchall() == [(True,)]
    assert computed(tmp_path, "v1") == {view.name for view in Catalog().materialized}


def test_a_lazy_ingest_reports_what_reading_found(tmp_path):
    damaged = tmp_path / "cut.json"
    damaged.write_text(traces.trace_text()[:-20])
    for options in (LAZY, LAZY):  # the second finds the run in the warehouse
        (run,) = pipeline.ingest(damaged, warehouse=tmp_path / "house", options=options)
        assert [problem.partition(";")[0] for problem in run.problems] == ["1 × the file ends inside the event array"]
    with pytest.raises(InputError, match="--strict was given"):
        pipeline.ingest(damaged, warehouse=tmp_path / "other", options=pipeline.ReadOptions(strict=True, lazy=True))


def test_views_are_made_once_and_then_copied(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "one")
    (cached,) = (tmp_path / "cache").rglob("*.duckdb")
    made = cached.read_bytes()
    monkeypatch.setattr("pipeline.warehouse.views.install", None)  # nothing makes views from here on
    pipeline.ingest(tmp_path / "t.json", warehouse=tmp_path / "two")
    assert cached.read_bytes() == made
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cached.write_bytes(b"damaged")
    pipeline.ingest(tmp_path / "t.json", warehouse=tmp_path / "three")
    assert len(cached.read_bytes()) == len(made)


def test_without_a_cache_the_views_are_made_again(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "house")
    assert rows(tmp_path / "house", "select run_id from marts.run") == [{"run_id": "t"}]


def test_the_cache_keeps_the_newest(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    views = tmp_path / "cache" / "tracemill" / "views"
    views.mkdir(parents=True)
    for number in range(12):
        (views / f"{number}.duckdb").write_bytes(b"")
    new_database(tmp_path / "made.duckdb", Warehouse(tmp_path).catalog, tmp_path / "none.duckdb")
    assert len(list(views.iterdir())) == 8
    assert max(path.stat().st_size for path in views.iterdir()) > 0
