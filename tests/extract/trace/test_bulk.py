"""The bulk lane gives the rows of the reference reader, event for event, whatever the text looks like."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.make_fixtures import demo_models, write_trace
from pipeline.extract.report import Report
from pipeline.extract.trace import eventarray, kineto
from tests.extract.trace.test_event_array import text, value
from tests.support.paths import CASES, TRACES

KEYS = ["correlation", "External id", "external id", "device", "Device Id", "stream", "bytes", "Bytes", "Addr"]
KEYS += ["correlation_id", "correlationId", "deviceId", "streamId"]
KEYS += ["Input Dims", "Input type", "Python id", "Sequence number", "grid", "Collective name"]
ODD_NUMBERS: list[Any] = [0, -1, 2**63 - 1, 2**63, 1.5, -2.5, 0.5, 1e3, 1e300, float("nan"), float("inf"), True]
ODD_NUMBERS += ["12", "12.5", "-0.5", " 7 ", "x"]
UNSIGNED: list[Any] = [2**63 + 1, 2**64 - 1, 2**64, 2**65, -(2**63), -(2**63) - 1, 1e19, 1.8e19, 2.0**64, 2.0**63]
ODD_NUMBERS += [*UNSIGNED, "18446744073709551615", "0xffffffffffffffff", "1e19", "9223372036854775807.5"]
number = st.one_of(
    st.integers(-(10**12), 10**17),
    st.decimals(-(10**9), 10**12, places=3).map(float),
    st.sampled_from([*ODD_NUMBERS, "", None]),
)
arguments = st.dictionaries(st.sampled_from(KEYS), st.one_of(number, value), max_size=5)
fields = st.dictionaries(
    st.sampled_from(["ph", "cat", "name", "pid", "tid", "id", "extra"]),
    st.one_of(text, st.integers(0, 99), value),
    max_size=5,
)
time = st.one_of(
    st.integers(0, 10**15),
    st.integers(0, 10**18).map(lambda n: f"{n // 1000}.{n % 1000:03}"),
    st.sampled_from([None, "", "abc", "12.0005", 1.0005, 5e-4, 1e15]),
)
events = st.lists(st.tuples(fields, time, time, st.one_of(st.none(), arguments)), max_size=10)


def read(path: Path, lane: str) -> tuple[list[dict], dict]:
    report = Report()
    batches = [batch for table, batch in kineto.extract(path, report, lane=lane) if table == "event"]
    rows = pa.Table.from_batches(batches, schema=kineto._EVENT).to_pylist()
    return [{name: meaning(cell) for name, cell in row.items()} for row in rows], report.problems


def meaning(cell: object) -> object:
    """A cell; JSON text as what it stands for, since it can be written in more than one way (`\\u001f`, `\\u001F`)."""
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        with contextlib.suppress(ValueError):
            return json.loads(cell)
    return cell


def assert_same(path: Path) -> None:
    assert read(path, "bulk") == read(path, "reference")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(events, st.integers(150, 3_000), st.sampled_from([None, 1]), st.binary(max_size=3), st.floats(0, 1))
def test_hostile_traces(tmp_path, monkeypatch, events, size, indent, noise, where):
    monkeypatch.setattr(eventarray, "CHUNK_BYTES", size)
    monkeypatch.setattr("pipeline.extract.bytestream.BLOCK_BYTES", max(1, size // 3))
    monkeypatch.setattr("pipeline.extract.bytestream.HEAD_BYTES", 4)
    items = []
    for names, start, duration, args in events:
        item = dict(names, ts=start, dur=duration)
        items.append(item if args is None else {**item, "args": args})
    data = bytearray(json.dumps({"traceEvents": items}, indent=indent).encode())
    if where > 0.6:  # damage anywhere in the events
        first = data.index(b"[") + 1
        place = first + int((len(data) - first) * (where - 0.6) / 0.4)
        data[place:place] = noise
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    assert_same(path)


number_text = st.one_of(
    st.text("0123456789_xXbBeE+-. \t\nfA", max_size=7),
    st.from_regex(r"[0-9_.]{1,22}(e-?[0-9_]{1,6}\.?)?", fullmatch=True),
    st.sampled_from(["٣", "\xa07"]),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(number_text, min_size=1, max_size=8))
def test_text_that_may_be_a_number(tmp_path, texts):
    path = tmp_path / "trace.json"
    keys = ["correlation", "external id", "Addr"]
    path.write_text(json.dumps([{"ph": "X", "ts": 0, "args": dict.fromkeys(keys, text)} for text in texts]))
    assert_same(path)
    for start in texts:
        path.write_text(json.dumps([{"ph": "X", "ts": start}]))
        assert_same(path)


@pytest.mark.parametrize("lane", ["bulk", "reference"])
def test_a_number_that_would_fill_the_memory_is_none(tmp_path, lane):
    path = tmp_path / "trace.json"
    path.write_text(
        '[{"ph": "X", "ts": "1e999999999", "dur": 1e999999999, "args": {"bytes": "9e99999999999999999999"}}]'
    )
    rows, _ = read(path, lane)
    assert [(row["start_ns"], row["duration_ns"], row["bytes"]) for row in rows] == [(None, None, None)]


NUMBERS = ["1" * 5_000, "1e" + "9" * 400, "-1e400"]


@pytest.mark.parametrize("field", ['"dur": {}', '"name": {}', '"args": {{"bytes": {}}}'])
@pytest.mark.parametrize("number", NUMBERS, ids=["digits", "exponent", "infinite"])
def test_a_number_that_no_double_holds_is_null_and_counted(tmp_path, field, number):
    path = tmp_path / "trace.json"
    damage = '{"ph": "X", "name": "\\x"}'  # so that the reference reads this stretch
    path.write_text(f'[{{"ph": "X", {field.format(number)}}}, {damage}, {{"ph": "X", "name": "last"}}]')
    rows, problems = read(path, "bulk")
    assert [row["name"] for row in rows] == [None, "\\x", "last"]
    assert (rows[0]["duration_ns"], rows[0]["bytes"], problems["non_finite"].count) == (None, None, 1)


@pytest.mark.parametrize("begin, end", [("[", "]"), ('{"a": ', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("depth", [300, 100_000])
def test_values_nested_without_end_cost_their_event_alone(tmp_path, begin, end, depth):
    path = tmp_path / "trace.json"
    deep = f"{begin * depth}1{end * depth}"
    event = f'{{"ph": "X", "args": {{"x": {deep}}}}}'
    path.write_text(f'{{"traceEvents": [{event}, {{"ph": "X", "name": "\\x"}}], "schemaVersion": 1, "deep": {deep}}}')
    rows, problems = read(path, "bulk")
    assert [row["name"] for row in rows] == ["\\x"]
    assert problems["event_dropped"].count == 1


@pytest.mark.parametrize("epoch", [False, True])
def test_generated_traces(tmp_path, epoch):
    base, _ = demo_models()
    path = tmp_path / "trace.json.gz"
    write_trace(replace(base, epoch=epoch), path)
    assert_same(path)


@pytest.mark.parametrize(
    "path",
    [*TRACES, *(path for path in sorted(CASES.glob("*/*.json*")) if path.parent.name < "20")],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_given_traces(path):
    assert_same(path)


@pytest.mark.parametrize("lane", ["bulk", "reference"])
def test_ids_of_64_bits_keep_all_of_them_and_sizes_are_what_they_say(tmp_path, lane):
    """As unsigned numbers, texts and hexadecimal texts; a size that large is none."""
    path = tmp_path / "t.json"
    numbers = [2**64 - 1, 2**63, str(2**63 + 5), hex(2**64 - 2), 2**64, -1]
    path.write_text(json.dumps([{"ph": "i", "args": {"Addr": number, "Bytes": number}} for number in numbers]))
    rows, problems = read(path, lane)
    assert [row["address"] for row in rows] == [-1, -(2**63), -(2**63) + 5, -2, None, -1]
    assert [row["bytes"] for row in rows] == [None, None, None, None, None, -1]
    assert problems == {}
