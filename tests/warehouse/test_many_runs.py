"""Many runs in one warehouse: a comparison opens the files of its own two."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from pipeline.warehouse.warehouse import Warehouse

RUNS = 120  # more than MANY_RUNS


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A warehouse of many runs: one is ingested, the others are its files under other names."""
    folder = tmp_path_factory.mktemp("many")
    write_trace(demo_models()[0], folder / "v0.json")
    house = Warehouse(folder / "house")
    pipeline.ingest(folder / "v0.json", warehouse=house.folder)
    for partition in list(house.folder.glob("*/*/run_id=v0")):
        for number in range(1, RUNS):
            shutil.copytree(partition, partition.with_name(f"run_id=v{number}"), copy_function=os.link)
    manifest = json.loads((house.folder / "runs" / "v0" / "manifest.json").read_text())
    for number in range(1, RUNS):
        place = house.folder / "runs" / f"v{number}"
        place.mkdir()
        renamed = manifest | {"run_id": place.name, "label": place.name}
        (place / "manifest.json").write_text(json.dumps(renamed))
    return house


def files_read(connection, query):
    """How many Parquet files each scan of a query has opened."""
    plan = "\n".join(row[1] for row in connection.execute(f"explain analyze {query}").fetchall())
    return [int(count) for count in re.findall(r"Total Files Read: (\d+)", plan)]


def test_every_comparison_opens_only_the_files_of_its_two_runs(house):
    with house.open_up_to_date() as connection:
        for view in house.catalog.comparisons:
            query = f"select * from {view.qualified} where base_run_id = 'v7' and comparison_run_id = 'v115'"
            # Transports are told by profiles of NPUs alone.
            found = connection.execute(query).fetchall()
            assert found or view.name == "communication_transport_comparison", view.name
            read = files_read(connection, query)
            assert read, view.name
            assert max(read) <= 2, (view.name, read)


def test_without_run_ids_all_files_are_opened(house):
    with house.open_up_to_date() as connection:
        assert files_read(connection, "select count(kernel_name) from marts.kernel") == [RUNS]


def test_a_comparison_knows_its_two_runs_alone(house):
    with house.open_up_to_date(["v115", "v7"]) as connection:
        assert files_read(connection, "select count(kernel_name) from marts.kernel") == [2]
        runs = connection.execute("select run_id from marts.run order by run_id").fetchall()
    assert runs == [("v115",), ("v7",)]
    assert pipeline.compare("v7", "v115", warehouse=house.folder).base.run["run_id"] == "v7"
