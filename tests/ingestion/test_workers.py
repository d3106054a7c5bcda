"""Several files at once: the same runs, in the same order, as one after another."""

from __future__ import annotations

import shutil

import pytest

import pipeline
from pipeline.errors import InputError
from pipeline.extract.source import Source, find_sources
from pipeline.ingestion import workers
from pipeline.warehouse.warehouse import Warehouse
from tests.support import traces
from tests.support.asking import rows
from tests.support.events import kernel


def ranks(folder, count=3):
    folder.mkdir()
    return [
        traces.write(
            folder / f"rank{rank}.json",
            [kernel(f"k{rank}", 10_000 * i, 5_000) for i in range(20 + rank)],
            distributedInfo={"rank": rank, "world_size": count},
        )
        for rank in range(count)
    ]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """(runs, rows of a mart, progress) of three ranks read by one process and by two."""
    folder = tmp_path_factory.mktemp("workers")
    files = ranks(folder / "traces")
    found = []
    for count in (1, 2):
        house = folder / f"house{count}"
        read = dict.fromkeys(files, 0)

        def progress(file, size, read=read):
            read[file] += size

        done = pipeline.ingest(
            folder / "traces",
            label="job",
            warehouse=house,
            options=pipeline.ReadOptions(workers=count, progress=progress),
        )
        marts = rows(house, "select run_id, rank, event_count from marts.run order by run_id")
        found.append(([(run.run_id, run.source, run.is_new) for run in done], marts, read))
    return files, *found


def test_runs_and_their_order_are_the_same(both):
    _files, alone, together = both
    assert together[:2] == alone[:2]
    assert [run_id for run_id, *_ in together[0]] == ["job.r0", "job.r1", "job.r2"]
    assert [row["event_count"] for row in together[1]] == [20, 21, 22]


def test_progress_of_processes_arrives(both):
    files, alone, together = both
    assert together[2] == alone[2] == {file: file.stat().st_size for file in files}


@pytest.mark.parametrize("count", [1, 2])
def test_runs_before_a_failure_stay_and_nothing_else_does(tmp_path, count):
    files = ranks(tmp_path / "traces")
    files[1].write_text("no trace")
    with pytest.raises(InputError, match=r"rank1\.json: not JSON"):
        pipeline.ingest(files, warehouse=tmp_path / "house", options=pipeline.ReadOptions(workers=count))
    assert [row["run_id"] for row in rows(tmp_path / "house", "select run_id from marts.run")] == ["rank0"]
    assert sorted(path.name for path in (tmp_path / "house" / "runs").iterdir()) == ["rank0"]
    assert not list((tmp_path / "house" / "tmp").iterdir())


def test_one_content_twice_is_one_run(tmp_path):
    (first, *_) = ranks(tmp_path / "traces", 1)
    copy = shutil.copy(first, tmp_path / "copy.json")
    done = pipeline.ingest(
        [first, copy], label="x", warehouse=tmp_path / "house", options=pipeline.ReadOptions(workers=2)
    )
    assert [(run.run_id, run.is_new) for run in done] == [("x.r0", True), ("x.r0", False)]


def test_one_content_under_the_names_of_two_ranks_is_two_runs(tmp_path):
    for rank in range(2):
        traces.write(tmp_path / "job" / f"t-TP-{rank}.json")
    for expected in (True, False):
        done = pipeline.ingest(tmp_path / "job", label="x", warehouse=tmp_path / "house")
        assert [(run.run_id, run.is_new) for run in done] == [("x.r0", expected), ("x.r1", expected)]


def test_small_files_get_no_process_and_large_ones_no_more_than_there_is_memory_for(tmp_path, monkeypatch):
    ranks(tmp_path / "traces")
    assert workers.worker_count(find_sources(tmp_path / "traces").sources) == 1
    monkeypatch.setattr(workers, "SMALL_BYTES", 0)
    monkeypatch.setattr(workers, "usable_cores", lambda: 8)
    monkeypatch.setattr(workers, "available_bytes", lambda: 64 << 30)
    assert workers.worker_count(find_sources(tmp_path / "traces").sources) == 3
    monkeypatch.setattr(workers, "available_bytes", lambda: 5 << 30)
    assert workers.worker_count(find_sources(tmp_path / "traces").sources) == 2


@pytest.mark.parametrize(
    ("sizes", "at_once", "shares"),
    [
        ([5], 1, [8]),
        ([0, 5], 1, [8, 8]),  # an empty file leaves the cores to the next
        ([5, 5], 2, [4, 4]),
        ([5, 5, 5], 2, [4, 4, 8]),  # the last is alone
        ([10_000, 1], 2, [8, 1]),
        ([3, 1, 0, 0], 2, [6, 2, 1, 1]),
    ],
)
def test_those_read_beside_one_another_share_the_cores_by_their_sizes(tmp_path, monkeypatch, sizes, at_once, shares):
    monkeypatch.setattr(workers, "usable_cores", lambda: 8)
    sources = []
    for number, size in enumerate(sizes):
        file = tmp_path / f"{number}.json"
        file.write_bytes(b" " * size)
        sources.append(Source(file, (file,), file.name))
    assert list(workers.core_shares(sources, at_once)) == shares


def test_a_warehouse_has_the_threads_that_it_is_given(tmp_path):
    pipeline.ingest(ranks(tmp_path / "traces", 1), warehouse=tmp_path / "house")
    with Warehouse(tmp_path / "house", threads=3).open_up_to_date() as connection:
        assert connection.execute("select current_setting('threads')").fetchall() == [(3,)]
