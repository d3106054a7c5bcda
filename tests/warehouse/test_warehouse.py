"""The warehouse folder: killed writers, readers beside writers, moving, other versions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

import pipeline
from pipeline.errors import WarehouseError
from pipeline.warehouse.warehouse import Warehouse
from tests.support import traces
from tests.support.asking import rows
from tests.support.events import kernel
from tests.support.paths import ROOT


def many(tmp_path, name="big.json", events=8_000):
    return traces.write(tmp_path / name, [kernel(f"k{i % 50}", 10_000 * i, 5_000) for i in range(events)])


def ingest_in_another_process(source, house, label):
    command = [sys.executable, "-m", "pipeline.cli", "ingest", str(source), "-w", str(house), "--label", label]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_at_any_moment_the_warehouse_works_with_or_without_the_run(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "first.json"), warehouse=house)
    source = many(tmp_path)
    started = time.monotonic()
    assert ingest_in_another_process(source, tmp_path / "timing", "x").wait() == 0
    whole = time.monotonic() - started
    seen = set()
    for i in range(3):
        process = ingest_in_another_process(source, house, f"v{i}")
        time.sleep(whole * (0.3 + 0.7 * i / 2))
        process.kill()
        process.wait()
        found = {
            row["run_id"]: row["n"] for row in rows(house, "select run_id, count(*) as n from raw.event group by 1")
        }
        assert found.pop("first") == len(traces.SMALL)
        assert set(found.values()) <= {8_000}
        listed = {row["run_id"] for row in rows(house, "select run_id from marts.run")}
        assert listed == {"first", *found}
        seen.add(f"v{i}" in found)
    (again,) = pipeline.ingest(source, label="v0", warehouse=house)  # what was left behind is in nobody's way
    assert again.run_id == "v0"
    assert not list((house / "tmp").iterdir())


def test_writers_and_readers_side_by_side(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "first.json"), warehouse=house)
    source = many(tmp_path, events=3_000)
    writers = [ingest_in_another_process(source, house, f"v{i}") for i in range(3)]
    with ThreadPoolExecutor(2) as pool:
        while any(writer.poll() is None for writer in writers):
            for n in pool.map(lambda _: rows(house, "select count(*) as n from marts.run")[0]["n"], range(2)):
                assert 1 <= n <= 4
    assert [writer.returncode for writer in writers] == [0, 0, 0], [writer.stderr.read() for writer in writers]
    assert len(rows(house, "select run_id from marts.run")) == 4


def test_two_writers_of_one_label_get_two_ids(tmp_path):
    house = tmp_path / "house"
    sources = [many(tmp_path, f"{i}.json", 2_000 + i) for i in range(2)]
    writers = [ingest_in_another_process(source, house, "same") for source in sources]
    assert [writer.wait() for writer in writers] == [0, 0]
    ids = [row["run_id"] for row in rows(house, "select run_id from marts.run order by length(run_id)")]
    assert ids[0] == "same"
    assert ids[1].startswith("same-")


def test_the_folder_can_be_moved_and_the_database_deleted(tmp_path):
    house, moved = tmp_path / "house", tmp_path / "moved"
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    shutil.move(house, moved)
    assert rows(moved, "select run_id from marts.run") == [{"run_id": "t"}]
    (moved / "warehouse.duckdb").unlink()
    assert rows(moved, "select count(*) as n from raw.event") == [{"n": 4}]
    (moved / "warehouse.duckdb").write_bytes(b"damaged")
    assert rows(moved, "select run_id from marts.run") == [{"run_id": "t"}]
    shutil.rmtree(moved / "derived")
    (moved / "warehouse.duckdb").unlink()
    assert rows(moved, "select count(*) as n from marts.kernel where step is null") == [{"n": 2}]


def test_views_that_are_taken_over_are_those_that_a_new_database_has(tmp_path, monkeypatch):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "first.json"), warehouse=house)
    pipeline.ingest(many(tmp_path), warehouse=house)

    def views():
        with duckdb.connect(str(house / "warehouse.duckdb"), read_only=True) as connection:
            queries = (
                # Its words in any order: DuckDB writes those of EXCLUDE and REPLACE in another one each time.
                "select schema_name, view_name, list_sort(regexp_split_to_array(sql, '[ (),]+')), comment"
                " from duckdb_views() order by all",
                "select schema_name, table_name, column_name, data_type, comment from duckdb_columns() order by all",
            )
            return [connection.execute(query).fetchall() for query in queries]

    taken_over = views()
    (house / "warehouse.duckdb").unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Warehouse(house).refresh()
    assert views() == taken_over
    assert all(row[-1] for row in taken_over[1] if row[0] == "marts" and row[1] != "catalog_version")


def test_any_duckdb_client_can_open_it(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    with duckdb.connect(str(house / "warehouse.duckdb"), read_only=True) as connection:
        assert connection.execute("select run_id from marts.run").fetchall() == [("t",)]
        comment = "select comment from duckdb_views() where view_name = 'kernel' and schema_name = 'marts'"
        assert "one row per" in connection.execute(comment).fetchall()[0][0]
        kinds = connection.execute("select distinct table_type from information_schema.tables").fetchall()
        assert kinds == [("VIEW",)]


def test_a_changed_view_is_computed_again(tmp_path, monkeypatch):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    before = {path.name for path in (house / "derived").iterdir()}
    (house / "seeds").mkdir()
    (house / "seeds" / "kernel_class.csv").write_text(
        "subject,pattern,class,unit,rule\nkernel,gemm,Communication,,mine\n"
    )
    assert rows(house, "select class_rule from marts.kernel where kernel_name = 'gemm' and step is null") == [
        {"class_rule": "mine"}
    ]
    after = {path.name for path in (house / "derived").iterdir()}
    assert any(name.startswith("kernel@") for name in after - before)
    (house / "seeds" / "kernel_class.csv").write_text("wrong,columns\n")
    with pytest.raises(pipeline.TracemillError, match="columns must be"):
        rows(house, "select 1")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "event_category",
            "pattern,kind,rule\ntpc,kernels,mine\n",
            "unknown kind: kernels; use one of: activity, ",
        ),
        ("track", "process,thread,kind,rule\nx,*,compute,mine\n", "unknown kind: compute; use one of: activity, "),
        ("kernel_class", "subject,pattern,class,unit,rule\nname,x,Matmul,,mine\n", "unknown subject: name; .*symbol"),
    ],
)
def test_rows_of_ones_own_that_nothing_would_come_of_are_refused(tmp_path, name, text, message):
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / f"{name}.csv").write_text(text)
    with pytest.raises(pipeline.TracemillError, match=message):
        pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path)


@pytest.mark.parametrize(("version", "message"), [(99, "upgrade tracemill"), (0, "ingest .* again")])
def test_another_raw_schema_is_refused_file_by_file(tmp_path, version, message):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    manifest = house / "runs" / "t" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "raw_schema_version": version}))
    with pytest.raises(WarehouseError, match=message):
        rows(house, "select 1")


def test_a_newer_catalog_is_refused_and_an_older_one_rebuilt(tmp_path, monkeypatch):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=house)
    monkeypatch.setattr("pipeline.warehouse.stamp.CATALOG_VERSION", "0.9.0")
    with pytest.raises(WarehouseError, match="upgrade tracemill"):
        rows(house, "select 1")
    monkeypatch.setattr("pipeline.warehouse.stamp.CATALOG_VERSION", "99.0.0")
    assert rows(house, "select catalog_version from marts.catalog_version") == [{"catalog_version": "99.0.0"}]


def test_a_missing_or_damaged_warehouse_says_so(tmp_path):
    with pytest.raises(WarehouseError, match="no warehouse here"):
        rows(tmp_path / "nothing", "select 1")
    (tmp_path / "file").write_text("")
    with pytest.raises(WarehouseError):
        pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "file")
    (tmp_path / "house" / "runs" / "x").mkdir(parents=True)
    (tmp_path / "house" / "runs" / "x" / "manifest.json").write_text("{")
    with pytest.raises(WarehouseError, match="not a manifest"):
        rows(tmp_path / "house", "select 1")


def test_another_client_can_query_all_marts_but_those_that_the_architecture_names(tmp_path):
    pipeline.ingest(traces.write(tmp_path / "t.json"), warehouse=tmp_path / "house")
    with duckdb.connect(str(tmp_path / "house" / "warehouse.duckdb"), read_only=True) as client:
        marts = "select table_schema || '.' || table_name from information_schema.tables where table_schema <> 'raw'"
        refused = set()
        for (view,) in client.execute(marts).fetchall():
            try:
                client.execute(f"select * from {view} limit 1").fetchall()
            except duckdb.CatalogException as error:
                assert "align_trees" in str(error)
                refused.add(view.removeprefix("intermediate."))
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, told = text.partition("They can query all marts except")
    assert refused == set(re.findall(r"`(marts\.\w+|int_\w+)`", told.partition("`tracemill sql`")[0]))
    for view in refused:  # and the same through the package
        rows(tmp_path / "house", f"select * from {view if '.' in view else f'intermediate.{view}'} limit 1")
