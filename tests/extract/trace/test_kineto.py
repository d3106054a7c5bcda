"""Rows of raw.event: types, spellings, exact times."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.extract.bytestream import ByteStream
from pipeline.extract.filename import label_of, rank_of
from pipeline.extract.report import Report
from pipeline.extract.trace import kineto
from tests.support import traces
from tests.support.events import (
    collective,
    device_flow,
    event,
    gpu_step,
    kernel,
    launch,
    memcpy,
    memory,
    metadata,
    op,
    opened,
    python,
    step,
    sync,
    task,
    tracks,
)  # fmt: skip


def events(tmp_path, *items, report=None):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": items}))
    batches = kineto.extract(path, report or Report())
    return [row for table, batch in batches if table == "event" for row in batch.to_pylist()]


EPOCH = 1_801_234_567_890_123_457
WRITTEN = [
    op("aten::mm", EPOCH, 543, input_shapes="[[2,3],[]]", input_types='["float",""]', external_id=5),
    op("aten::mm", -3, 0, input_shapes="8,8;\r\n8", sequence_number=4, forward_thread=1),
    launch("cudaLaunchKernel", 5, 1, correlation=9),
    kernel('a "name"\n', 7, None, stream=20, device=3, correlation=9),
    memcpy(10, 2, bytes=64),
    memory(-512, at=11, address=140_000_000_000_000, allocated=0, reserved=4096),
    collective("allreduce", 12, 5, sent=8, received=8, seq=1),
    python("nn.Module: Linear_0", 1, 50, 2, caller=1),
    [step(1, 0, 90), gpu_step(1, 2, 80), sync("Stream Sync", 3, 1)],
    [tracks(), task("MatMul", 20, 5), device_flow(7, 20, 21)],
    event(None, None, None, None, phase="M"),
]


@pytest.mark.parametrize("lane", ["bulk", "reference"])
def test_events_of_tests_are_read_back_from_a_trace_as_the_rows_that_they_are(tmp_path, lane):
    path = traces.write(tmp_path / "t.json.gz", [*WRITTEN, metadata("notes", [1, None])], schemaVersion=1)
    found: dict[str, list] = {"event": [], "trace_metadata": []}
    for table, batch in kineto.extract(path, Report(), lane=lane):
        found.get(table, []).extend(batch.to_pylist())
    assert {row["key"]: row["value"] for row in found["trace_metadata"]} == {"schemaVersion": "1", "notes": "[1,null]"}
    for (_, wanted), row in zip(opened(WRITTEN), found["event"], strict=True):
        args = json.loads(wanted["args"] or "{}")
        assert json.loads(row["args"] or "{}").items() >= args.items()
        assert {column: value for column, value in row.items() if value is not None and column != "args"} == {
            column: value for column, value in wanted.items() if value is not None and column != "args"
        } | {"event_index": row["event_index"]}


@given(st.integers(-(10**18), 10**18))
def test_a_time_with_three_decimals_is_exact(nanoseconds):
    sign, digits = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    text = f"{sign}{digits // 1000}.{digits % 1000:03}"
    assert kineto.nanoseconds(text) == nanoseconds
    assert kineto.nanoseconds(Decimal(text)) == nanoseconds


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [(5, 5000), ("7.25", 7250), (Decimal("1E+3"), 1_000_000), (Decimal("0.0005"), 1), (Decimal("0.0015"), 2),
     (None, None), ("abc", None), (True, None), (Decimal("NaN"), None), ("", None), ([1], None), (10**30, None)],
)  # fmt: skip
def test_times_of_other_shapes(value, nanoseconds):
    assert kineto.nanoseconds(value) == nanoseconds


def test_ids_come_as_numbers_or_text_in_any_spelling(tmp_path):
    one, two, three = events(
        tmp_path,
        {
            "ph": "X",
            "pid": "3",
            "tid": "stream 7",
            "id": 5,
            "args": {"external id": "9", "correlation": "12", "stream": 7},
        },
        {
            "ph": "X",
            "pid": 3,
            "tid": -1,
            "args": {"External id": 9, "Device Id": 2, "device": 1, "Addr": 140000000000000},
        },
        {
            "ph": "X",
            "args": {"correlation": "x", "stream": 1.5, "bytes": "x", "External id": None, "Input Dims": [[1, 2], []]},
        },
    )
    assert (one["pid"], one["tid"], one["flow_id"]) == ("3", "stream 7", "5")
    assert (one["external_id"], one["correlation"], one["stream"]) == (9, 12, 7)
    assert (two["pid"], two["tid"], two["external_id"], two["device"], two["address"]) == (
        "3",
        "-1",
        9,
        1,
        140000000000000,
    )
    assert (three["correlation"], three["stream"], three["bytes"], three["external_id"]) == (None, 2, None, None)
    assert three["input_shapes"] == "[[1,2],[]]"


@pytest.mark.parametrize("lane", ["bulk", "reference"])
def test_other_profilers_and_converters_spell_their_keys_in_their_own_way(tmp_path, lane):
    path = tmp_path / "trace.json"
    args = [
        {"correlationId": 77, "deviceId": 1, "streamId": 13},
        {"correlation_id": "78"},
        {"correlation": 5, "correlation_id": 6, "correlationId": 7, "device": 2, "deviceId": 3},
        {"correlation": "none", "correlationId": 7},
    ]
    path.write_text(json.dumps([{"ph": "X", "args": known} for known in args]))
    columns = ("correlation", "device", "stream")
    batches = kineto.extract(path, Report(), lane=lane)
    found = [row for table, batch in batches if table == "event" for row in batch.to_pylist()]
    assert [tuple(row[column] for column in columns) for row in found] == [
        (77, 1, 13),
        (78, None, None),
        (5, 2, None),
        (7, None, None),
    ]


def test_everything_may_be_missing_and_args_keep_all(tmp_path):
    bare, odd = events(tmp_path, {}, {"name": 5, "ts": None, "args": {"deep": {"a": [1, 2.5]}, "text": "é"}})
    assert {bare[name] for name in bare if name != "event_index"} == {None}
    assert odd["name"] == "5"
    assert json.loads(odd["args"]) == {"deep": {"a": [1, 2.5]}, "text": "é"}


def test_the_envelope_tells_rank_device_and_clock(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps(
            {
                "deviceProperties": [{"id": 0, "name": "H100"}, {"id": 1, "name": "H100"}],
                "traceEvents": [],
                "distributedInfo": {"rank": 3, "world_size": 8},
                "baseTimeNanoseconds": 1751410836000000000,
            }
        )
    )
    report = Report()
    tables = {table: batch for table, batch in kineto.extract(path, report)}
    assert (report.rank, report.world_size, report.device_name, report.base_time_ns) == (
        3,
        8,
        "H100",
        1751410836000000000,
    )
    assert "baseTimeNanoseconds" in tables["trace_metadata"].column("key").to_pylist()


@pytest.mark.parametrize(
    ("name", "label", "rank"),
    [("base.pt.trace.json.gz", "base", None), ("v2.3_rank-34.json", "v2.3_rank-34", 34), ("rank0.json", "rank0", 0),
     ("frank5.json", "frank5", None), (".json", ".json", None)],
)  # fmt: skip
def test_file_names(tmp_path, name, label, rank):
    assert (label_of(tmp_path / name), rank_of(tmp_path / name)) == (label, rank)


def test_compressed_data_that_repeats_is_read_whole(tmp_path):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    assert sum(map(len, ByteStream(path).blocks())) == 50_000_000


def test_bytes_behind_the_last_member_are_counted_and_padding_is_not(tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": []}') + b"\0" * 10)
    padded = ByteStream(path)
    assert (b"".join(padded.blocks()), padded.trailing_bytes, padded.fault) == (b'{"traceEvents": []}', 0, None)
    path.write_bytes(gzip.compress(b'{"traceEvents": []}') + b"garbage")
    trailed = ByteStream(path)
    assert (b"".join(trailed.blocks()), trailed.trailing_bytes) == (b'{"traceEvents": []}', 7)
