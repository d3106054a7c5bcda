"""What traces come wrapped in, and in which encoding: read, or refused with what to do; hostile ones cost no memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import InputError
from pipeline.extract import containers
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.filename import label_of, rank_of
from pipeline.extract.report import Report
from pipeline.extract.source import find_sources
from pipeline.extract.trace import kineto
from tests.support import traces

EVENTS = traces.trace_text(distributedInfo={"rank": 5}).encode()


def by_arrow(codec: str, data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def tarred(members: dict[str, bytes], mode: Literal["w", "w:gz", "w:bz2", "w:xz"] = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        folder = tarfile.TarInfo("job")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": lambda data: by_arrow("zstd", data),
    "lz4": lambda data: by_arrow("lz4", data),
}
WRAPPED = {f"rank5.json.{ending}": compress(EVENTS) for ending, compress in COMPRESSED.items()} | {
    "rank5.pt.trace.zip": zipped({"job/": b"", "job/rank5.json": EVENTS, "__MACOSX/._rank5.json": b"\0\5"}),
    "rank5.stored.zip": zipped({"x": EVENTS}, zipfile.ZIP_STORED),
    "rank5.lzma.zip": zipped({"x.json": EVENTS}, zipfile.ZIP_LZMA),
    "rank5.gz.zip": zipped({"rank5.json.gz": gzip.compress(EVENTS)}),
    "rank5.tar": tarred({"._rank5.json": b"\0\5", "job/rank5.json": EVENTS}),
    "rank5.tar.gz": tarred({"rank5.json.gz": gzip.compress(EVENTS)}, "w:gz"),
    "rank5.tgz": tarred({"rank5.json": EVENTS}, "w:gz"),
    "rank5.tar.xz": tarred({"rank5.json": EVENTS}, "w:xz"),
    "rank5.tar.bz2": tarred({"rank5.json": EVENTS}, "w:bz2"),
    "rank5.tar.zst": by_arrow("zstd", tarred({"rank5.json": EVENTS})),
    "rank5.json": lzma.compress(EVENTS),  # told by its bytes, whatever its name
    "rank5.bom.json": b"\xef\xbb\xbf" + EVENTS,
    "rank5.utf16.json": EVENTS.decode().encode("utf-16"),
    "rank5.utf16be.json": b"\xfe\xff" + EVENTS.decode().encode("utf-16-be"),
    "rank5.unmarked.json": EVENTS.decode().encode("utf-16-le"),
    "rank5.utf32.json": EVENTS.decode().encode("utf-32"),
    "rank5.utf16.json.gz": gzip.compress(EVENTS.decode().encode("utf-16")),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_trace_is_read_out_of_what_it_comes_in_alone_and_in_a_folder(tmp_path, name):
    (tmp_path / name).write_bytes(WRAPPED[name])
    (source,) = find_sources(tmp_path).sources
    read: list[int] = []
    report = Report()
    batches = dict(source.extract(report, lambda _, size: read.append(size)))
    assert [event["name"] for event in batches["event"].to_pylist()] == ["aten::mm", "cudaLaunchKernel", "gemm", "add"]
    assert (report.problems, report.rank) == ({}, 5)
    assert sum(read) == report.source_bytes == len(WRAPPED[name])
    assert (rank_of(source.path), source.name.partition(".")[0]) == (5, "rank5")


def test_names_of_runs_lose_the_endings_of_containers():
    names = [
        "t.pt.trace.zip",
        "t.tar.gz",
        "t.json.xz",
        "t.trace.json.zst",
        "t.tgz",
        "t.tar",
        "t.json.bz2",
        "t.json.lz4",
    ]
    assert {label_of(Path(name)) for name in names} == {"t"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            zipped({"rank0.json": EVENTS, "rank1.json": EVENTS}),
            r"several files \(rank0\.json, rank1\.json\); unpack it",
        ),
        (zipped({f"{n}.json": b"" for n in range(7)}), r"\(0\.json, 1\.json, 2\.json, 3\.json, 4\.json, …\)"),
        (
            tarred({"rank0.json": EVENTS, "rank1.json": EVENTS}),
            r"several files \(rank0\.json, rank1\.json\); unpack it",
        ),
        (tarred({"a.json": EVENTS, "b.json": EVENTS * 9_000}, "w:gz"), r"several files \(a\.json, b\.json\)"),
        (zipped({}), "no file"),
        (tarred({}), "no file"),
        (zipped({"rank0.json": EVENTS})[:-30], "the zip cannot be read"),
        (gzip.compress(zipped({"rank0.json": EVENTS})), "a zip inside another container"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(90), "7z archives cannot be read; unpack it"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(90), "RAR archives cannot be read"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(EVENTS))))), "unpack it"),
    ],
)
def test_what_is_not_read_says_what_it_is_and_what_to_do(tmp_path, content, message):
    path = tmp_path / "trace.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        pipeline.ingest(path, warehouse=tmp_path / "house")
    assert str(path) in str(error.value)


def test_an_encrypted_zip_is_refused(tmp_path):
    content = bytearray(zipped({"rank0.json": EVENTS}, zipfile.ZIP_STORED))
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + flags] |= 1
    (tmp_path / "t.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read .*encrypted.*unpack it"):
        pipeline.ingest(tmp_path / "t.zip", warehouse=tmp_path / "house")


def test_an_archive_of_several_traces_in_a_folder_is_named(tmp_path):
    traces.write(tmp_path / "rank0.json")
    (tmp_path / "rest.zip").write_bytes(zipped({"rank1.json": EVENTS, "rank2.json": EVENTS}))
    (tmp_path / "code.zip").write_bytes(zipped({"model.py": b"", "data.py": b""}))
    (tmp_path / "notes.zip").write_bytes(zipped({"notes.txt": b"x"}))
    found = find_sources(tmp_path)
    assert [source.name for source in found.sources] == ["rank0"]
    assert [left.path.name for left in found.left_out] == ["rest.zip"]


def long_trace(events: int) -> bytes:
    return b'{"traceEvents": [' + b", ".join(b'{"ph": "X", "name": "k%d"}' % n for n in range(events)) + b"]}"


def read(path: Path) -> tuple[int, Report]:
    report = Report()
    rows = sum(batch.num_rows for table, batch in kineto.extract(path, report) if table == "event")
    return rows, report


@pytest.mark.parametrize("name", [*COMPRESSED, "tar", "tar.xz"])
def test_a_cut_container_keeps_what_came_before(tmp_path, name):
    import random  # noqa: PLC0415  (so that the text does not compress to nothing)

    noise = random.Random(1)
    events = [{"ph": "X", "name": f"{noise.getrandbits(256):x}"} for _ in range(20_000)]
    data = json.dumps({"traceEvents": events}).encode()
    packed = COMPRESSED[name](data) if name in COMPRESSED else tarred({"t.json": data}, "w:xz" if "xz" in name else "w")
    path = tmp_path / f"t.{name}"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    rows, report = read(path)
    assert 10_000 < rows < 20_000
    assert report.problems["truncated"].count == 1
    assert "damaged" in report.problems["truncated"].detail or "end" in report.problems["truncated"].detail
    assert report.source_bytes == path.stat().st_size


@pytest.mark.parametrize("compress", [lzma.compress, bz2.compress, lambda data: by_arrow("zstd", data)])
def test_streams_follow_one_another(tmp_path, compress):
    data = long_trace(1_000)
    path = tmp_path / "t.json"
    path.write_bytes(compress(data[:5_000]) + compress(data[5_000:]))
    assert read(path)[0] == 1_000


@pytest.mark.parametrize("name", ["gz", "xz", "bz2"])
def test_the_rest_of_a_damaged_file_belongs_to_its_hash(tmp_path, name):
    whole = COMPRESSED[name](long_trace(60_000))
    packed = whole[: len(whole) // 2]
    hashes = set()
    for end in (b"one", b"another"):
        (tmp_path / "t").write_bytes(packed + random.Random(1).randbytes(3 << 20) + end)
        _rows, report = read(tmp_path / "t") if name == "gz" else (0, drained(tmp_path / "t"))
        hashes.add(report.content_hash)
        assert report.source_bytes == (tmp_path / "t").stat().st_size
    assert len(hashes) == 2


def test_damage_behind_the_end_of_an_archive_is_told(tmp_path):
    whole = tarred({"t.json": EVENTS}, "w:gz")
    (tmp_path / "t").write_bytes(whole[:-4])
    rows, report = read(tmp_path / "t")
    assert (rows, report.problems["truncated"].detail) == (4, "the compressed data ends without its trailer")


def test_what_came_before_damage_is_read_but_for_the_last_kilobytes(tmp_path):
    (tmp_path / "t").write_bytes(damaged("gz", 9 / 10))
    rows, report = read(tmp_path / "t")
    assert 40_000 < rows < 60_000
    assert "the compressed data" in report.problems["truncated"].detail


def test_damage_before_any_event_is_told_as_damage(tmp_path):
    (tmp_path / "t").write_bytes(damaged("gz", 0))
    with pytest.raises(InputError, match="no event before the damage: the compressed data is damaged"):
        read(tmp_path / "t")


def damaged(name: str, place: float) -> bytes:
    """Events whose compressed data is nonsense from a place on."""
    packed = COMPRESSED[name](long_trace(60_000))
    start = max(20, int(len(packed) * place))
    return packed[:start] + b"\xff" * (len(packed) - start)


def drained(path: Path) -> Report:
    stream, report = ByteStream(path), Report()
    for _ in stream.blocks():
        pass
    assert stream.fault
    report.read(stream.size, stream.content_hash)
    return report


BOMBS = COMPRESSED | {
    "tar.gz": lambda data: tarred({"t.json": data}, "w:gz"),
    "zip": lambda data: zipped({"t.json": data}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_long_stream(tmp_path, name):
    """64 MiB of blanks in some kilobytes: memory is that of blocks."""
    (tmp_path / "t").write_bytes(BOMBS[name](b"[" + b" " * (64 << 20) + EVENTS))
    tracemalloc.start()
    size = sum(len(block) for block in ByteStream(tmp_path / "t").blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 1 + (64 << 20) + len(EVENTS)
    assert peak < 32 << 20


def test_headers_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "_HEADER_LIMIT", 1 << 16)
    name = tarfile.TarInfo("x" * (1 << 18))
    (tmp_path / "t.tar").write_bytes(name.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    (tmp_path / "t.zip").write_bytes(zipped({f"{n}.json": b"" for n in range(2_000)}))
    for path in (tmp_path / "t.tar", tmp_path / "t.zip"):
        with pytest.raises(InputError, match="headers of the archive are larger"):
            list(ByteStream(path).blocks())


def test_text_of_another_encoding_that_is_damaged_is_mended_and_told(tmp_path):
    text = '[{"ph": "X", "name": "a\ud83d"}, {"ph": "X", "name": "模型"}'
    (tmp_path / "t.json").write_bytes(text.encode("utf-16", "surrogatepass") + b"x")
    rows, report = read(tmp_path / "t.json")
    assert rows == 2
    assert set(report.problems) == {"text_repaired", "truncated"}
    assert "truncated data" in report.problems["truncated"].detail


def test_a_compressed_database_says_to_unpack_it(tmp_path):
    (tmp_path / "ascend_pytorch_profiler_0.db.gz").write_bytes(gzip.compress(b"SQLite format 3\0" + bytes(4096)))
    with pytest.raises(InputError, match="in gzip; unpack it"):
        pipeline.ingest(tmp_path / "ascend_pytorch_profiler_0.db.gz", warehouse=tmp_path / "house")
