"""The bulk lane gives the rows of the reference reader, event for event, whatever the text looks like."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixtures.make_fixtures import demo_models, write_trace
from pipeline.extract import eventarray
from pipeline.extract.formats import kineto
from pipeline.extract.report import Report
from tests.shared import CASES, TRACES
from tests.test_event_array import text, value

KEYS = ["correlation", "External id", "external id", "device", "Device Id", "stream", "bytes", "Bytes", "Addr"]
KEYS += ["Input Dims", "Input type", "Python id", "Sequence number", "grid", "Collective name"]
ODD_NUMBERS = [0, -1, 2**63 - 1, 2**63, 1.5, -2.5, 0.5, 1e3, 1e300, float("nan"), float("inf"), True]
ODD_NUMBERS += ["12", "12.5", "-0.5", " 7 ", "x"]
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
