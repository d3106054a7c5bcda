"""Places that are hard to write to: a power cut, folders that can be read alone, a full disk, paths of any bytes."""

from __future__ import annotations

import errno
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pipeline
from pipeline import cli
from pipeline.errors import OutputError, WarehouseError, write_failure
from pipeline.schema import RAW_TABLES
from pipeline.warehouse import partitions
from pipeline.warehouse.lease import Lease
from pipeline.warehouse.partitions import partition_writer
from tests.support import traces
from tests.support.asking import rows
from tests.support.events import kernel, step

CHECKOUT = Path(pipeline.__file__).parents[1]
COMMAND = [sys.executable, "-m", "pipeline.cli"]


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def two_runs(folder):
    """A warehouse with two runs, and the traces they are of."""
    folder.mkdir(exist_ok=True)
    sources = [
        traces.write(folder / "a.json", [step(3, 990_000, 100_000), *traces.SMALL]),
        traces.write(folder / "b.json", [*traces.SMALL, kernel("slow", 1_060_000, 40_000)]),
    ]
    pipeline.ingest(sources, warehouse=folder / "house")
    return folder / "house", sources


# -- a power cut -------------------------------------------------------------------------------------------


@pytest.fixture
def disk(monkeypatch):
    """What is told to the disk, in order: (sync, inode) and (name, inode, path)."""
    told: list[tuple[str, int, Path | None]] = []

    def sync(handle):
        told.append(("sync", os.fstat(handle).st_ino, None))

    def renaming(change):
        def renamed(path, target):
            inode = path.stat().st_ino
            found = change(path, target)
            told.append(("name", inode, Path(target)))
            return found

        return renamed

    monkeypatch.setattr(os, "fsync", sync)
    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, renaming(getattr(Path, name)))
    return told


def last(told, kind, path):
    """The place of the last entry of a kind about what lies at a path now."""
    places = [place for place, (what, inode, _) in enumerate(told) if what == kind and inode == path.stat().st_ino]
    assert places, f"no {kind} of {path}"
    return places[-1]


def test_what_a_manifest_stands_for_is_on_disk_before_it_has_its_name(tmp_path, disk):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    manifest = house / "runs" / "a" / "manifest.json"
    exists = last(disk, "name", manifest)
    parts = [path for kind in ("raw", "derived") for path in (house / kind).rglob("*.parquet")]
    assert len(parts) > 40
    for part in parts:
        folder = part.parent
        named = last(disk, "name", folder)
        assert last(disk, "sync", part) < named
        assert last(disk, "sync", folder) < named
        for parent in itertools.takewhile(lambda path: path != house.parent, folder.parents):
            assert (
                named
                < next(
                    place
                    for place, (what, inode, _) in enumerate(disk)
                    if place > named and what == "sync" and inode == parent.stat().st_ino
                )
                < exists
            ), parent
    assert last(disk, "sync", manifest) < exists
    assert exists < last(disk, "sync", manifest.parent)
    assert exists < last(disk, "sync", house / "runs")


def test_the_database_is_on_disk_before_it_replaces_the_one_before(tmp_path, disk):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    named = last(disk, "name", house / "warehouse.duckdb")
    assert last(disk, "sync", house / "warehouse.duckdb") < named < last(disk, "sync", house)


def test_a_result_that_is_made_later_is_on_disk_before_it_has_its_name(tmp_path, disk):
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    shutil.rmtree(house / "derived")
    (house / "warehouse.duckdb").unlink()
    disk.clear()
    rows(house, "select 1")
    for part in (house / "derived").rglob("*.parquet"):
        assert last(disk, "sync", part) < last(disk, "name", part.parent)


def test_no_manifest_is_ever_seen_in_part(tmp_path, monkeypatch):
    """It is written whole under another name, in a folder of its writer's own."""
    seen = []
    write = Path.write_text

    def watched(path, *arguments, **options):
        seen.append(path)
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", watched)
    pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=tmp_path / "house")
    (manifest,) = [path for path in seen if path.name.startswith("manifest")]
    assert manifest.is_relative_to(tmp_path / "house" / "tmp")


def test_every_part_of_a_large_table_has_a_file_of_its_own(tmp_path, monkeypatch):
    """A part is full when it holds more than PART_BYTES: here after two batches of 100 rows each."""
    schema = RAW_TABLES["event"]
    batches = [
        pa.RecordBatch.from_pylist([{"event_index": 100 * number + row} for row in range(100)], schema=schema)
        for number in range(5)
    ]
    monkeypatch.setattr(partitions, "ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(partitions, "PART_BYTES", batches[0].nbytes + 1)
    with partition_writer(tmp_path / "made", tmp_path) as writer:
        for batch in batches:
            writer.write("event", batch)
    parts = sorted((tmp_path / "made" / "event").iterdir())
    assert [part.name for part in parts] == [f"part-{number:04}.parquet" for number in range(3)]
    indices = [pq.read_table(part)["event_index"].to_pylist() for part in parts]
    assert [len(part) for part in indices] == [200, 200, 100]
    assert [index for part in indices for index in part] == list(range(500))


def test_a_run_of_several_parts_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(partitions, "PART_BYTES", 1)
    monkeypatch.setattr("pipeline.extract.trace.eventarray.CHUNK_BYTES", 4_000)
    events = [kernel(f"k{number}", 10_000 * number, 5_000) for number in range(300)]
    house = tmp_path / "house"
    pipeline.ingest(traces.write(tmp_path / "a.json", events), warehouse=house)
    assert len(list((house / "raw" / "event").rglob("part-*"))) > 1
    (found,) = rows(
        house, "select count(*) as n, count(distinct name) as names, max(event_index) as last from raw.event"
    )
    assert found == {"n": 300, "names": 300, "last": 299}
    assert rows(house, "select sum(call_count)::int as n from marts.kernel where step is null") == [{"n": 300}]


# -- folders that can be read alone ------------------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch):
    """From its call on no writer finds a place in a warehouse, as on a file system that is mounted read-only."""

    def refuse():
        def refused(_, warehouse):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(warehouse / "tmp"))

        monkeypatch.setattr(Lease, "__init__", refused)

    return refuse


@pytest.mark.parametrize("missing", ["nothing", "database", "results"])
def test_a_warehouse_that_can_be_read_alone_is_read(tmp_path, read_only, missing):
    house, sources = two_runs(tmp_path / "given")
    if missing != "nothing":
        (house / "warehouse.duckdb").unlink()
    if missing == "results":
        shutil.rmtree(house / "derived")
    before = files(house)
    read_only()
    assert "slow" in run("sql", "select kernel_name from marts.kernel", "-w", house).stdout
    assert run("runs", "-w", house).stdout.count("complete") == 2
    assert "100.000 µs" in run("steps", "a", "-w", house).stdout
    compared = run("compare", "a", sources[1], "-w", house, "-o", tmp_path / "out")  # a run, and a file that is there
    assert compared.exit_code == 0, compared.output
    assert len(list((tmp_path / "out").iterdir())) == 2
    again = run("ingest", *sources, "-w", house)
    assert again.exit_code == 0, again.output
    assert again.stdout.count("already in the warehouse") == 2
    assert files(house) == before


def test_what_must_be_written_to_a_warehouse_that_can_be_read_alone_is_refused(tmp_path, read_only):
    house, _ = two_runs(tmp_path / "given")
    new = traces.write(tmp_path / "new.json", [kernel("k", 0, 5_000)])
    before = files(house)
    read_only()
    for arguments in (["ingest", new], ["compare", "a", new, "-o", tmp_path / "out"]):
        done = run(*arguments, "-w", house)
        assert done.exit_code == 4
        assert done.stderr == f"error: {house}: cannot be written: Read-only file system; choose another with -w\n"
    assert files(house) == before
    assert not (tmp_path / "out").exists()


def test_no_place_at_all_is_told(tmp_path, read_only, monkeypatch):
    house, _ = two_runs(tmp_path / "given")
    read_only()

    def refused(**_):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refused)
    done = run("runs", "-w", house)
    assert done.exit_code == 4
    assert re.fullmatch(
        r"error: .*house: cannot be written .*, nor can any temporary folder; set TMPDIR to one that can\n", done.stderr
    )


def mounted(script, *arguments):
    """Run a script in a namespace of mounts of its own, None where the system lets nobody have one."""
    for own in (["unshare", "-m"], ["unshare", "-rm"]):
        tried = subprocess.run([*own, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
        if tried.returncode == 0:
            environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "T": " ".join(COMMAND)}
            command = [*own, "sh", "-c", script, "sh", *map(str, arguments)]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return None


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_warehouse_that_is_mounted_read_only_and_elsewhere_is_read(tmp_path):
    house, _ = two_runs(tmp_path / "given")
    (tmp_path / "mount").mkdir()
    done = mounted(
        'mount --bind "$1" "$2" && mount -o remount,bind,ro "$2" && cd "$3" || exit 77;'
        '$T sql "select count(*) as n from marts.run" -f csv -w "$2" && $T compare a b -w "$2" -o out --no-xlsx;'
        '$T ingest new.json -w "$2"; echo "exit $?"; $T compare a b -w "$2" -o "$2/out"; echo "exit $?"',
        house,
        tmp_path / "mount",
        traces.write(tmp_path / "new.json").parent,
    )
    if done is None or done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.stdout.startswith("n\n2\n"), done.stderr
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert re.findall(r"exit \d", done.stdout) == ["exit 4", "exit 5"]
    assert done.stderr.count("Read-only file system; choose another with") == 2
    assert "Traceback" not in done.stderr


# -- a full disk -------------------------------------------------------------------------------------------


@contextmanager
def largest_file(size):
    """Writing beyond so many bytes of a file fails, as it does on a full disk: Python is not ended by the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [500, 3_000, 20_000, 400_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, size):
    """What comes first of raw partitions, results and the database that has no place: each is larger than the last."""
    house, _ = two_runs(tmp_path / "given")
    before = files(house)
    new = traces.write(tmp_path / "new.json", [kernel("k", 0, 5_000)])
    with largest_file(size):
        done = run("ingest", new, "-w", house)
    assert done.exit_code == 4, done.output
    remedy = "cannot be written: File too large; free space there, or choose another with -w"
    assert done.stderr == f"error: {house}: {remedy}\n"
    assert isinstance(done.exception, SystemExit)
    assert {path for path in files(house) - before if "run_id=new" not in path} <= {"runs/new/manifest.json"}
    if "runs/new/manifest.json" not in files(house):
        assert files(house) == before
    assert run("ingest", new, "-w", house).exit_code == 0
    assert len(rows(house, "select * from marts.run")) == 3


def test_a_full_disk_is_told_by_workers_too(tmp_path):
    house, _ = two_runs(tmp_path / "given")
    before = files(house)
    sources = [traces.write(tmp_path / f"{n}.json", [kernel("k", 1_000 * n, 5_000)]) for n in range(2)]
    with largest_file(500):
        done = run("ingest", *sources, "-w", house, "--workers", 2)
    assert (done.exit_code, done.stderr.count("\n")) == (4, 1), done.output
    assert files(house) == before


@pytest.mark.parametrize("size", [1_000, 40_000])
def test_results_without_a_place_are_one_line_and_no_half_files(tmp_path, size):
    house, _ = two_runs(tmp_path / "given")
    out = tmp_path / "out"
    with largest_file(size):
        done = run("compare", "a", "b", "-w", house, "-o", out)
    assert done.exit_code == 5, done.output
    assert (
        done.stderr == f"error: {out}: cannot be written: File too large; free space there, or choose another with -o\n"
    )
    assert list(out.iterdir()) == []


def test_a_csv_beside_the_workbook_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    house, _ = two_runs(tmp_path / "given")
    monkeypatch.setattr("pipeline.render.workbook.xlsx.SHEET_ROWS", 3)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def half(table, path):
        path.write_text("half a row")
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.render.workbook.xlsx.write_csv", half)
        with pytest.raises(OutputError, match="No space left on device; free space there"):
            pipeline.compare("a", "b", warehouse=house, output=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    written = pipeline.compare("a", "b", warehouse=house, output=tmp_path / "out").files
    assert {path.suffix for path in written} == {".xlsx", ".html", ".csv"}
    assert set(written) == set((tmp_path / "out").iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["views"], ["sql", "select 1"], ["--help"]])
def test_a_standard_output_that_takes_no_more_is_an_error(tmp_path, command):
    house, _ = two_runs(tmp_path / "given")
    environment = {**os.environ, "TRACEMILL_WAREHOUSE": str(house)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
    assert done.returncode == (1 if command == ["--help"] else 5)
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_any_error_of_the_system_has_an_exit_code_and_one_line(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(tmp_path / "a"))

    for name in ("table", "query", "ingest", "compare", "views"):
        monkeypatch.setattr(pipeline, name, refused)
    for arguments in (["runs"], ["steps"], ["sql", "select 1"], ["ingest", "a"], ["compare", "a", "b"], ["views"]):
        done = run(*arguments)
        assert (done.exit_code, done.stderr) == (1, f"error: {tmp_path / 'a'}: Permission denied\n"), arguments
    assert isinstance(run("runs", "--debug").exception, PermissionError)


def test_errors_of_writing_name_the_reason_and_what_to_do():
    duckdb_error = RuntimeError('IO Error: Could not write "x": No space\n{"errno":"28"}')
    assert write_failure("/a", duckdb_error, "choose b") == (
        "/a: cannot be written: No space left on device; free space there, or choose b"
    )
    assert write_failure("/a", OSError(errno.EROFS, "x"), "choose b") == (
        "/a: cannot be written: Read-only file system; choose b"
    )
    assert write_failure("/a", OSError(errno.EACCES, "x")) == "/a: cannot be written: Permission denied"


# -- paths of any bytes ------------------------------------------------------------------------------------

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def in_c_locale(folder, *command):
    environment = {**os.environ, **ASCII, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return (
        done.returncode,
        done.stdout.decode("utf-8", "surrogateescape"),
        done.stderr.decode("utf-8", "surrogateescape"),
    )


def test_any_path_and_label_under_a_locale_of_ascii(tmp_path):
    folder = tmp_path / "größe"
    folder.mkdir()
    traces.write(folder / "模型.json")
    traces.write(tmp_path / os.fsdecode(b"bad\xff.json"), [*traces.SMALL, kernel("größer", 1_060_000, 40_000)])
    house = ["-w", "größe/häuser"]
    files_given = ["größe/模型.json", b"bad\xff.json"]
    code, out, error = in_c_locale(tmp_path, *COMMAND, "ingest", *files_given, *house, "--workers", "2")
    assert (code, error) == (0, "")
    assert out == "模型  größe/模型.json\nbad_udcff  bad\udcff.json\n"
    code, out, error = in_c_locale(tmp_path, *COMMAND, "ingest", files_given[0], "--label", "naïve", *house)
    assert (code, out, error) == (0, "naïve  größe/模型.json\n", "")
    code, out, error = in_c_locale(tmp_path, *COMMAND, "compare", "naïve", b"bad\xff.json", *house, "-o", b"\xfcber")
    assert (code, error) == (0, "")
    assert "größer" in out
    written = [line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")]
    assert [Path(tmp_path, path).stat().st_size > 0 for path in written] == [True, True]
    assert all(path.startswith("\udcfcber/") for path in written)
    query = "select run_id, source_path, 'ü' as u from marts.run order by run_id"
    code, out, error = in_c_locale(tmp_path, *COMMAND, "sql", query, *house, "-f", "csv")
    assert (code, error) == (0, "")
    assert out.splitlines()[1:] == [
        f"bad_udcff,{tmp_path}/bad\\udcff.json,ü",
        f"naïve,{folder}/模型.json,ü",
        f"模型,{folder}/模型.json,ü",
    ]


def test_a_warehouse_whose_path_duckdb_cannot_open_is_refused(tmp_path):
    house = tmp_path / os.fsdecode(b"w\xff")
    with pytest.raises(WarehouseError, match="only paths in UTF-8"):
        pipeline.ingest(traces.write(tmp_path / "a.json"), warehouse=house)
    assert not house.exists()


def test_the_package_under_a_locale_of_ascii_reads_any_source_and_refuses_what_it_cannot_name(tmp_path):
    traces.write(tmp_path / "größe.json")
    code = (
        "import pipeline, sys\n"
        "(run,) = pipeline.ingest(sys.argv[1], label='na\\u00efve', warehouse='house')\n"
        "print(run.run_id, ascii(pipeline.query('select label from marts.run', warehouse='house').to_pylist()))\n"
        "pipeline.ingest(sys.argv[1], warehouse=sys.argv[2])\n"
    )
    returned, out, error = in_c_locale(tmp_path, sys.executable, "-c", code, "größe.json", "häuser")
    assert out == "na_ve [{'label': 'na\\xefve'}]\n"
    assert (returned, "PYTHONUTF8=1" in error) == (1, True)


def test_a_long_name_has_a_run_id_that_fits(tmp_path):
    long = "很" * 80
    done = pipeline.ingest(traces.write(tmp_path / f"{long}.json"), warehouse=tmp_path / "house")
    done += pipeline.ingest(
        traces.write(tmp_path / "b.json", [kernel("k", 0, 5_000)]), label=f"{long}b", warehouse=tmp_path / "house"
    )
    assert [row["label"] for row in rows(tmp_path / "house", "select label from marts.run order by label")] == [
        long,
        f"{long}b",
    ]
    assert len({run.run_id for run in done}) == 2
