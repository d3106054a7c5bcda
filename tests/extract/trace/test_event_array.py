"""Cutting the event array: whatever the text looks like, every event comes out once, in order, unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.report import Report
from pipeline.extract.trace import eventarray
from pipeline.extract.trace.eventarray import EventArray
from pipeline.extract.trace.jsontext import item_spans, repair

SCHEMA = pa.schema([("event", pa.string())])
# Texts that look like the places where the array is cut, and that a careless cutter takes for structure.
HOSTILE = st.sampled_from(
    ["},{", "} , {", "}]", '"', "\\", "]}", "[{", "\\u007d,{", "é模", "{", "}", ",", "traceEvents", "\n"]
)
text = st.lists(st.one_of(HOSTILE, st.text(max_size=3)), max_size=6).map("".join)
value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=6,
)
event = st.fixed_dictionaries({"ph": st.just("X"), "name": text, "ts": st.integers(0, 10**6)}, optional={"args": value})
envelope = st.dictionaries(st.text(max_size=4).filter(lambda key: key != "traceEvents"), value, max_size=3)


def parse(body: bytes) -> pa.Table:
    """Events as JSON text, one a row: what the standard library makes of a chunk that it accepts."""
    try:
        events = json.loads(b"[" + body + b"]")
    except ValueError as error:
        raise eventarray.InvalidChunk from error
    return pa.Table.from_pydict(
        {"event": [json.dumps(item) for item in events]}, schema=pa.schema([("event", pa.string())])
    )


def read(path: Path, report: Report | None = None) -> tuple[list[dict], EventArray]:
    array = EventArray(ByteStream(path), report or Report())
    return [
        json.loads(text) for _, batch in array.parse_with(parse) for text in batch.column("event").to_pylist()
    ], array


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(event, max_size=12),
    envelope,
    envelope,
    st.integers(8, 400),
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
)
def test_every_event_comes_out_whatever_is_in_it(
    tmp_path, monkeypatch, events, before, after, size, indent, ascii_only
):
    monkeypatch.setattr(eventarray, "CHUNK_BYTES", size)
    monkeypatch.setattr("pipeline.extract.bytestream.BLOCK_BYTES", max(1, size // 3))
    monkeypatch.setattr("pipeline.extract.bytestream.HEAD_BYTES", 4)
    path = tmp_path / "trace.json"
    after = {key: item for key, item in after.items() if key not in before}
    path.write_text(
        json.dumps({**before, "traceEvents": events, **after}, indent=indent, ensure_ascii=ascii_only),
        encoding="utf-8",
        errors="replace",
    )
    wanted = json.loads(path.read_text(encoding="utf-8"))
    report = Report()
    found, array = read(path, report)
    repaired = "text_repaired" in report.problems  # lone surrogates, which hypothesis may write as escapes
    assert len(found) == len(events)
    if not repaired:
        assert found == wanted["traceEvents"]
    assert set(array.envelope) == set(wanted) - {"traceEvents"}
    assert set(report.problems) <= {"text_repaired"}


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(event, min_size=1, max_size=8), st.data())
def test_a_cut_file_keeps_exactly_the_events_before_the_cut(tmp_path, events, data):
    body = '{"traceEvents": [' + ", ".join(json.dumps(item) for item in events)
    cut = data.draw(st.integers(len('{"traceEvents": ['), len(body)))
    path = tmp_path / "trace.json"
    path.write_text(body[:cut])
    ends = [
        len('{"traceEvents": [' + ", ".join(json.dumps(item) for item in events[: n + 1])) for n in range(len(events))
    ]
    report = Report()
    found, _ = read(path, report)
    assert len(found) == sum(end <= cut for end in ends)
    assert report.problems["truncated"].count == 1


@pytest.mark.parametrize(
    ("text", "names", "dropped"),
    [
        ('[{"name":"a","ph":"X"}]', ["a"], 0),  # a bare array
        (' \n{"traceEvents":[]}', [], 0),
        ('{"x":{"traceEvents":[{"name":"no"}]},"traceEvents":[{"name":"a"}]}', ["a"], 0),  # a nested namesake
        ('{"traceEvents":[{"name":"a"},{"name":},{"name":"b"}]}', ["a", "b"], 1),
        ('{"traceEvents":[{"name":"a"},{"name":"b"c","ph":"X"},{"name":"d"}]}', ["a", "d"], 1),  # a stray quote
        ('{"traceEvents":[{"name":"C:\\Users\\x"},{"name":"b"}]}', ["C:\\Users\\x", "b"], 0),  # unescaped backslashes
        ('{"traceEvents":[{"name":"a"},]}', ["a"], 0),
        ('{"traceEvents":[{"name":"a","dur":NaN,"ts":-Infinity}]}', ["a"], 0),
        ('\ufeff{"traceEvents":[{"name":"a"}]}', ["a"], 0),
    ],
)
def test_damage_is_mended_or_dropped_and_counted(tmp_path, text, names, dropped):
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="utf-8")
    report = Report()
    found, _ = read(path, report)
    assert [item["name"] for item in found] == names
    assert report.problems["event_dropped"].count == dropped if dropped else "event_dropped" not in report.problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("hello", "not JSON"),
        ("<html>", "not JSON"),
        ("{}", "traceEvents"),
        ('{"traceEvents": 3}', "traceEvents"),
        ('{"a": [1, 2', "traceEvents"),
    ],
)
def test_a_file_that_is_no_trace_says_so(tmp_path, text, message):
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (b'{"a":"}"}, {"b":[{}]} ] , {"c":1}', [b'{"a":"}"}', b'{"b":[{}]}']),  # the end of the array
        (b'{}, 5, "a", null, [{}], -1.5e3, {}]', [b"{}", b"5", b'"a"', b"null", b"[{}]", b"-1.5e3", b"{}"]),
        (b"{}{}\n{} , , {}]", [b"{}"] * 4),
        (b'{}, "a" {}]', [b"{}"]),  # a quote too many: what is a string and what is not cannot be told
        (b'{}, "a, {}]', [b"{}"]),
        (b"{}, }, {}]", [b"{}"]),
        (b'{}, {"a": {}, {}', [b"{}"]),
    ],
)
def test_spans_are_whole_items_up_to_the_end_of_the_array_or_to_damage(text, items):
    assert [text[begin:end] for begin, end in item_spans(text, 0, len(text))] == items


@pytest.mark.parametrize(
    ("raw", "mended", "changed", "non_finite"),
    [
        (b'{"a":"plain"}', b'{"a":"plain"}', False, 0),
        (
            b'{"a":nan,"b":-inf,"c":Infinity,"nan":"NaN, inf"}',
            b'{"a":null,"b":null,"c":null,"nan":"NaN, inf"}',
            False,
            3,
        ),
        (b'{"a":"\x01"}', b'{"a":"\\u0001"}', True, 0),
        (b'{"a":"\\ud83d\\ude00"}', b'{"a":"\\ud83d\\ude00"}', False, 0),  # a pair is a character
        (b'{"a":"\\\\ud83d"}', b'{"a":"\\\\ud83d"}', False, 0),  # an escaped backslash, then letters
        (b'{"a":"\\ud83d"}', b'{"a":"\\ufffd"}', True, 0),
        (b'{"a":"\xff"}', '{"a":"\ufffd"}'.encode(), True, 0),
        (b'{"a":"\\q"}', b'{"a":"\\\\q"}', True, 0),
    ],
)
def test_repair(raw, mended, changed, non_finite):
    result = repair(raw)
    assert (result.text, result.text_changed, result.non_finite) == (mended, changed, non_finite)
