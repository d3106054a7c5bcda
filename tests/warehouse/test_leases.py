"""Who owns what in a warehouse: processes of this host, of others, dead ones; claims; what killed writers leave."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pipeline
from pipeline.errors import WarehouseError
from pipeline.warehouse import lease as leases
from pipeline.warehouse.layout import Layout
from pipeline.warehouse.lease import LEASE_SECONDS, Lease, Process, lease, this_process
from pipeline.warehouse.writer import Writer, writer
from tests.support import traces
from tests.support.asking import rows
from tests.support.events import kernel

ELSEWHERE = {"boot": "0e15eb00", "namespace": "4026531836", "host": "other", "machine": "5e7f0000"}


def process(**facts):
    return Process(**{**vars(this_process()), **facts})


def lease_of(warehouse, holder, age=0.0):
    """A lease that another process holds, last touched some seconds ago."""
    folder = warehouse / "tmp" / holder.new_name()
    folder.mkdir(parents=True)
    (folder / "part").write_text("of its work")
    moment = time.time() - age
    os.utime(folder, (moment, moment))
    return folder


def dead_pid():
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
        return ended.pid


def test_a_lease_names_its_process_and_is_alive_until_it_ends(tmp_path):
    with lease(tmp_path) as own, lease(tmp_path) as other:
        assert Process.named(other.name) == this_process()
        assert own.is_alive(other.name)
        assert sorted(own.leases()) == sorted([own.name, other.name])
        other.end()
        assert not own.is_alive(other.name)
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(
    ("holder", "age", "alive"),
    [
        pytest.param({}, 10 * LEASE_SECONDS, True, id="this host: the process lives, however long it slept"),
        pytest.param({"start": 1}, 0, False, id="this host: another process has its number now"),
        pytest.param({"pid": "dead"}, 0, False, id="this host: it has ended"),
        pytest.param({"boot": "0e15eb00"}, 0, False, id="this host, before it was started again"),
        pytest.param({"boot": "0e15eb00", "machine": ""}, 0, True, id="a host of this name, perhaps not this one"),
        pytest.param({"namespace": "7", "pid": "dead"}, 0, True, id="another container: its numbers say nothing here"),
        pytest.param({"namespace": "7"}, LEASE_SECONDS + 5, False, id="another container that shows no life"),
        pytest.param({**ELSEWHERE, "pid": "dead"}, 0, True, id="another host"),
        pytest.param({**ELSEWHERE, "pid": "dead"}, LEASE_SECONDS - 20, True, id="another host, not silent for long"),
        pytest.param(ELSEWHERE, LEASE_SECONDS + 5, False, id="another host that shows no life"),
        pytest.param({"boot": "", "pid": "dead"}, 0, True, id="a system that does not tell its boots"),
    ],
)
def test_who_is_alive(tmp_path, monkeypatch, holder, age, alive):
    monkeypatch.setattr(leases, "_here", lambda: ("b0070001", "4026531836", "here", "aac41e00"))
    holder = {key: dead_pid() if value == "dead" else value for key, value in holder.items()}
    with lease(tmp_path) as own:
        assert own.is_alive(lease_of(tmp_path, process(**holder), age).name) is alive


def test_the_clock_that_counts_is_that_of_the_file_system(tmp_path, monkeypatch):
    folder = lease_of(tmp_path, process(**ELSEWHERE))
    monkeypatch.setattr("time.time", lambda: 0.0)
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    with lease(tmp_path) as own:
        assert own.is_alive(folder.name)


def test_a_killed_process_that_nobody_has_asked_about_is_dead(tmp_path):
    code = (
        "import sys; from pathlib import Path; from pipeline.warehouse.lease import Lease;"
        "print(Lease(Path(sys.argv[1])).name, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        name = other.stdout.readline().strip()
        with lease(tmp_path) as own:
            assert own.is_alive(name)
            other.kill()
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # a zombie
            assert not own.is_alive(name)


def test_a_lease_is_renewed(tmp_path, monkeypatch):
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.01)
    with lease(tmp_path) as own:
        os.utime(own.folder, (0, 0))
        deadline = time.monotonic() + 10
        while own.folder.stat().st_mtime == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_claim_has_one_owner_until_that_is_dead(tmp_path):
    claim = tmp_path / "writer"
    with lease(tmp_path) as first, lease(tmp_path) as second:
        assert first.take(claim)
        assert not second.take(claim)
        assert not first.take(claim)
        first.end()
        assert second.take(claim)
        assert claim.read_text() == second.name
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("writer")] == ["writer"]


def test_a_claim_whose_owner_was_killed_before_it_said_who_it_is_expires(tmp_path):
    claim = tmp_path / "writer"
    claim.touch()
    with lease(tmp_path) as own:
        assert not own.take(claim)
        moment = time.time() - LEASE_SECONDS - 5
        os.utime(claim, (moment, moment))
        assert own.take(claim)


def test_whoever_dies_over_a_succession_is_succeeded(tmp_path):
    claim, dead = tmp_path / "writer", process(pid=dead_pid())
    owner, heir = dead.new_name(), dead.new_name()
    claim.write_text(owner)
    (tmp_path / f"writer.{owner.partition('@')[0]}").write_text(heir)
    with lease(tmp_path) as own:
        assert own.take(claim)
        assert claim.read_text() == own.name
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("writer")] == ["writer"]


@pytest.mark.parametrize("trial", range(5))
def test_of_many_who_find_a_dead_claim_one_gets_it(tmp_path, trial):
    claim, count = tmp_path / "writer", 8
    claim.write_text(process(pid=dead_pid()).new_name())
    won, start = [], threading.Barrier(count)

    def take(own):
        start.wait()
        if own.take(claim):
            won.append(own.name)

    held = [Lease(tmp_path) for _ in range(count)]
    threads = [threading.Thread(target=take, args=(own,)) for own in held]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [claim.read_text()]
    for own in held:
        own.end()


def test_two_who_have_both_seen_the_dead_owner_do_not_both_win(tmp_path, monkeypatch):
    """The second looks at the claim before the first takes it, and goes on when the first has it."""
    claim = tmp_path / "writer"
    claim.write_text(process(pid=dead_pid()).new_name())
    with lease(tmp_path) as first, lease(tmp_path) as second:
        is_alive = second.is_alive

        def slow(name):
            found = is_alive(name)
            monkeypatch.setattr(second, "is_alive", is_alive)
            assert first.take(claim)
            return found

        monkeypatch.setattr(second, "is_alive", slow)
        assert not second.take(claim)
        assert claim.read_text() == first.name


def test_while_one_succeeds_a_dead_owner_another_does_not(tmp_path, monkeypatch):
    claim = tmp_path / "writer"
    claim.write_text(process(pid=dead_pid()).new_name())
    with lease(tmp_path) as first, lease(tmp_path) as second:
        others = []
        monkeypatch.setattr(first, "fence", lambda name: others.append(second.take(claim)))
        assert first.take(claim)
        assert others == [False]
        assert claim.read_text() == first.name


def test_who_was_taken_for_dead_can_change_nothing_any_more(tmp_path):
    layout = Layout(tmp_path)
    with lease(tmp_path) as sleeper, lease(tmp_path) as other:
        asleep, awake = Writer(layout, sleeper), Writer(layout, other)
        assert asleep.claim("v1")
        extracted = asleep.new_folder()
        (extracted / "event").mkdir()
        (extracted / "event" / "part-0000.parquet").write_text("its rows")
        other.fence(sleeper.name)
        assert awake.claim("v1")
        for change in (
            lambda: asleep.place("v1", extracted),
            lambda: asleep.commit("v1", {}),
            lambda: asleep.claim("v2"),
        ):
            with pytest.raises(WarehouseError, match="showed no life"):
                change()
        asleep.abandon("v1")
        awake.commit("v1", {})
        assert [path.parent.name for path in tmp_path.rglob("manifest.json")] == ["v1"]
        assert not list(tmp_path.rglob("part-*"))


def files(house):
    return {str(path.relative_to(house)) for path in house.rglob("*") if path.is_file()}


def litter(house, holder):
    """What an ingest of `v9` leaves when it is killed, of every kind, and a little of one of `v8`."""
    folder = lease_of(house, holder)
    (folder / "views.duckdb").write_text("half")
    (folder / "manifest.json").write_text("{")
    for place in ("raw/event", "raw/run", "derived/kernel@0123", "derived/step@4567"):
        (house / place / "run_id=v9").mkdir(parents=True)
        (house / place / "run_id=v9" / "part-0000.parquet").write_text("rows")
    for run in ("v8", "v9"):
        (house / "runs" / run).mkdir(parents=True)
        (house / "runs" / run / "writer").write_text(folder.name)


@pytest.mark.parametrize("kind", ["killed", "another host"])
def test_what_a_killed_writer_left_goes_and_what_a_living_one_has_stays(tmp_path, kind):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    before = files(house)
    litter(house, process(pid=dead_pid()) if kind == "killed" else process(**ELSEWHERE, pid=dead_pid()))
    left = files(house) - before
    assert len(left) == 9
    with writer(Layout(house)) as beginning:
        beginning.sweep()
    assert files(house) == (before if kind == "killed" else before | left)
    pipeline.ingest(traces.write(tmp_path / "b.json", [kernel("k", 0, 5_000)]), label="v9", warehouse=house)
    runs = {row["run_id"] for row in rows(house, "select run_id from marts.run")}
    if kind == "killed":
        assert runs == {"a", "v9"}
    else:  # the name is the other's
        assert len(runs) == 2 and "v9" not in runs
        assert left <= files(house)


def test_what_lies_beside_a_manifest_after_a_kill_goes_and_the_run_stays(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    before = files(house)
    owner = process(pid=dead_pid()).new_name()
    (house / "runs" / "a" / "writer").write_text(owner)
    (house / "runs" / "a" / f"writer.{owner.partition('@')[0]}").write_text(process(pid=dead_pid()).new_name())
    with writer(Layout(house)) as beginning:
        beginning.sweep()
    assert files(house) == before


def test_a_partition_that_was_left_is_not_taken_for_the_new_run(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    left = house / "raw" / "allocation" / "run_id=b"
    left.mkdir(parents=True)
    (left / "part-0000.parquet").write_text("of another file")
    with writer(Layout(house)) as own:
        assert own.claim("b")
    assert not left.exists()


def test_workers_end_with_their_parent(tmp_path):
    """A parent that is killed while its workers wait for a job."""
    code = (
        "import sys, time\n"
        "from pipeline.ingestion.workers import executor\n"
        "if __name__ == '__main__':\n"
        "    with executor(2, None) as (pool, _):\n"
        "        import os\n"
        "        print(*{pool.submit(os.getpid).result() for _ in range(2)}, flush=True)\n"
        "        time.sleep(600)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(pipeline.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert pids
        parent.kill()
    deadline = time.monotonic() + 20
    while any(leases._start(pid) is not None for pid in pids):
        assert time.monotonic() < deadline, "a worker lives on"
        time.sleep(0.05)


def test_a_run_whose_folder_was_deleted_is_gone_after_the_next_ingest(tmp_path):
    house = tmp_path / "house"
    pipeline.ingest([traces.write(tmp_path / "a.json"), traces.write(tmp_path / "b.json")], label="x", warehouse=house)
    pipeline.ingest(traces.write(tmp_path / "c.json", [kernel("k", 0, 5_000)]), warehouse=house)
    shutil.rmtree(house / "runs" / "c")
    assert rows(house, "select run_id from marts.run") == [{"run_id": "x"}]
    pipeline.ingest(traces.write(tmp_path / "d.json", [kernel("d", 0, 5_000)]), warehouse=house)
    assert not [path for path in files(house) if "run_id=c" in path]
    assert rows(house, "select run_id from marts.run order by run_id") == [{"run_id": "d"}, {"run_id": "x"}]
