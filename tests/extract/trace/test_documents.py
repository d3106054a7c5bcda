"""Several documents, arrays and garbage in one file: what are events is read, the rest is told with its place."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.errors import InputError
from pipeline.extract.report import Report
from pipeline.extract.trace import documents, eventarray, kineto
from tests.extract.trace.test_event_array import event
from tests.support import traces
from tests.support.asking import rows


def made(*names: str) -> str:
    return ", ".join(f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "ts": 1, "dur": 2}}' for name in names)


A, B, C = made("a"), made("b"), made("c")


def read(path: Path, lane: str = "bulk") -> tuple[list[tuple[int, str]], dict[str, tuple[int, int | None]], dict]:
    """Events by place and name, problems by kind (count, byte offset), and the metadata around the events."""
    report = Report()
    events, metadata = [], {}
    for table, batch in kineto.extract(path, report, lane=lane):
        if table == "event":
            events += [(row["event_index"], row["name"]) for row in batch.to_pylist()]
        else:
            metadata = {row["key"]: json.loads(row["value"]) for row in batch.to_pylist()}
    assert report.event_count == len(events)
    return events, {kind: (p.count, p.byte_offset) for kind, p in report.problems.items()}, metadata


BEHIND, REST = "events_behind", "not_events"


@pytest.mark.parametrize(
    ("text", "names", "problems"),
    [
        # arrays behind one another, bare, in an object, under a key that comes twice, in a list
        (f"[{A}][{B}, {C}]", "abc", {BEHIND: 2}),
        (f"[{A}]\n[{B}]\n[{C}]\n", "abc", {BEHIND: 2}),
        (f'{{"traceEvents": [{A}][{B}], "x": 1}}', "ab", {BEHIND: 1}),
        (f'{{"traceEvents": [{A}], [{B}], "x": 1}}', "ab", {BEHIND: 1}),
        (f'{{"traceEvents": [{A}], "x": 1, "traceEvents": [{B}, {C}]}}', "abc", {BEHIND: 2}),
        (f"[[{A}], [{B}]]", "ab", {BEHIND: 1}),
        # documents behind one another, by two writers or by lines
        (f'{{"traceEvents": [{A}]}}{{"traceEvents": [{B}]}}', "ab", {BEHIND: 1}),
        (f'{{"traceEvents": [{A}]}}\r\n\ufeff{{"x": {{}}, "traceEvents": [{B}, {C}]}}\r\n', "abc", {BEHIND: 2}),
        (f'[{{"traceEvents": [{A}]}}, {{"traceEvents": [{B}]}}]', "ab", {BEHIND: 1}),
        (f'{{"traceEvents": [{A}]}}[{B}]{{"traceEvents": []}}', "ab", {BEHIND: 1}),
        # events behind a bracket that was closed too early, and by lines without one
        (f"[{A}], {B}, {C}", "abc", {BEHIND: 2}),
        (f"[{A}], {B}, {C}]", "abc", {BEHIND: 2, REST: 1}),
        (f'{{"traceEvents": [{A}], {B}, {C}], "x": 1}}', "abc", {BEHIND: 2, REST: 1}),
        (A + "\n" + B + "\n" + C + "\n", "abc", {}),
        (f'{A}\n{{"traceEvents": [{B}]}}\n{C}', "abc", {BEHIND: 2}),
        # the rest, by its bytes
        (f"[{A}]\nthe end", "a", {REST: 7}),
        (f'{{"traceEvents": [{A}]}}\0\0\0', "a", {REST: 3}),
        (f'{{"traceEvents": [{A}]}} {{"x": 1}}', "a", {REST: 8}),
        (f'{{"traceEvents": [{A}]}}}}', "a", {REST: 1}),
        (f"[{A}]]", "a", {REST: 1}),
        (f"[{A}] [2024-01-01] loss {{'a': 1}}\n[{B}]", "ab", {REST: 26, BEHIND: 1}),
        (f'{{"a": 1}}\n{{"traceEvents": [{A}]}}', "a", {REST: 8}),
        # cut or damaged behind the events
        (f'{{"traceEvents": [{A}], "x": 1', "a", {"envelope_cut": 1}),
        (f'{{"traceEvents": [{A}]', "a", {"envelope_cut": 1}),
        (f'[{A}]{{"traceEvents": [{B}, {{"na', "ab", {"truncated": 1, BEHIND: 1}),
        (f'[{A}] {{"ph": "X", "na', "a", {"truncated": 1}),
        (f'{{"traceEvents": [{A}], "x": nope, "y": 2}}', "a", {"envelope_damaged": 1}),
        # what surrounds all of it may be empty
        (f"[{A}],,\n\n", "a", {}),
    ],
)
def test_what_are_events_is_read_and_the_rest_is_told(tmp_path, text, names, problems):
    path = tmp_path / "t.json"
    path.write_text(text, encoding="utf-8")
    found = read(path)
    assert "".join(name for _, name in found[0]) == names
    assert [place for place, _ in found[0]] == list(range(len(names)))
    assert {kind: count for kind, (count, _) in found[1].items()} == problems
    assert read(path, "reference") == found


@pytest.mark.parametrize("text", [f"[{A}][{B}]", f"[{A}] bye", f'{{"traceEvents": [{A}], "x": 1'])
def test_strict_refuses_what_is_not_one_whole_document(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match="--strict"):
        pipeline.ingest(tmp_path / "t.json", warehouse=tmp_path / "house", options=pipeline.ReadOptions(strict=True))


def test_the_place_of_what_is_told_is_that_in_the_decompressed_text(tmp_path):
    path = tmp_path / "t.json"
    first, gap = f'{{"traceEvents": [{A}]}}', "\nsome log\n"
    path.write_text(f"{first}{gap}[{B}, {{]")
    _, problems, _ = read(path)
    assert problems[REST] == (len(gap) - 1, len(first) + 1)
    assert problems[BEHIND] == (1, len(first + gap) + 1)
    path.write_text(f"[{A}, 12345, {B}, \0\0 {C}]")
    events, problems, _ = read(path)
    assert events == [(0, "a"), (2, "b"), (4, "c")]
    assert problems == {"event_dropped": (2, len(f"[{A}, "))}


def test_metadata_of_several_documents_is_merged_and_the_first_value_counts(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        f'{{"rank": 1, "same": [1.5], "traceEvents": [{A}], "name": "x"}}\n'
        f'{{"rank": 2, "same": [1.5], "traceEvents": [{B}], "name": "y", "more": 3}}'
    )
    _, problems, metadata = read(path)
    assert metadata == {"rank": 1, "same": [1.5], "name": "x", "more": 3}
    assert problems["envelope_differs"][0] == 2


@pytest.mark.parametrize("item", ["5", '"text"', "null", "true", "-1.5e3", "[]", f"[{B}]", "NaN", '"a, {b}"', "}"])
def test_what_is_no_object_takes_a_place_and_is_counted(tmp_path, item):
    path = tmp_path / "t.json"
    path.write_text(f"[{A}, {item}, {C}, {{}}]")
    events, problems, _ = read(path)
    assert events == [(0, "a"), (2, "c"), (3, None)]
    assert problems == {"event_dropped": (1, len(f"[{A}, "))}
    assert read(path, "reference") == (events, problems, {})


def test_an_empty_object_is_an_event_and_no_damage(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(f'{{ "traceEvents":[{{}}\n,{A}\n],"otherData":{{}}}}')
    assert read(path)[:2] == ([(0, None), (1, "a")], {})


@pytest.mark.parametrize("text", ["[]", '{"traceEvents": []}', '{"x": 1, "traceEvents": [] }', "[5, 6]", '[{"ph": "X'])
def test_a_file_without_an_event_that_can_be_read_is_no_run(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"it holds no events|none of its 2 events can be read"):
        pipeline.ingest(path, warehouse=tmp_path / "house")


def test_one_without_events_beside_others_is_left_out(tmp_path):
    traces.write(tmp_path / "job" / "rank0.json")
    traces.write(tmp_path / "job" / "rank1.json", [])
    with pytest.warns(UserWarning, match=r"rank1\.json: not read: it holds no events"):
        (run,) = pipeline.ingest(tmp_path / "job", warehouse=tmp_path / "house")
    assert run.run_id == "rank0"


def test_status_and_problems_in_the_warehouse(tmp_path):
    for name, rest in (("cut", ', "x": 1'), ("more", f"}}[{B}] bye")):
        (tmp_path / f"{name}.json").write_text(f'{{"traceEvents": [{A}]{rest}')
        pipeline.ingest(tmp_path / f"{name}.json", warehouse=tmp_path / "house")
    assert rows(tmp_path / "house", "select run_id, status from marts.run order by 1") == [
        {"run_id": "cut", "status": "incomplete"},
        {"run_id": "more", "status": "salvaged"},
    ]
    told = "select kind, problem_count as n, byte_offset as at from marts.problem where run_id = 'more' order by 1"
    start = len(f'{{"traceEvents": [{A}]}}[')
    assert rows(tmp_path / "house", told) == [
        {"kind": BEHIND, "n": 1, "at": start},
        {"kind": REST, "n": 3, "at": start + len(f"{B}] ")},
    ]


def test_metadata_behind_the_events_may_be_larger_than_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr(eventarray, "CHUNK_BYTES", 400)
    monkeypatch.setattr("pipeline.extract.bytestream.BLOCK_BYTES", 100)
    behind = {"groups": [{"ranks": list(range(500))}, {"name": "}]"}], "distributedInfo": {"rank": 7}}
    path = tmp_path / "t.json"
    path.write_text(f"{traces.trace_text()[:-1]}, {json.dumps(behind)[1:]}")
    _, problems, metadata = read(path)
    assert (metadata, problems) == (behind, {})


def test_one_text_of_the_metadata_may_be_larger_than_a_block(tmp_path):
    long: dict[str, Any] = {"notes": "{[x" * (1 << 20), "rank": 7}
    path = tmp_path / "t.json"
    for content in (f"{traces.trace_text()[:-1]}, {json.dumps(long)[1:]}", traces.trace_text(**long)):
        path.write_text(content)
        _, problems, metadata = read(path)
        assert (metadata == long, problems) == (True, {})


def test_metadata_that_is_too_large_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "ENVELOPE_LIMIT", 300)
    path = tmp_path / "t.json"
    path.write_text(f'{{"a": 1, "traceEvents": [{A}], "b": {json.dumps(["x"] * 400)}}}')
    events, problems, metadata = read(path)
    assert (events, set(problems), metadata) == ([(0, "a")], {"envelope_damaged"}, {"a": 1})
    path.write_text(f'{{"b": {json.dumps(["x"] * 400)}, "traceEvents": [{A}]}}')
    with pytest.raises(InputError, match='no "traceEvents" in the first'):
        read(path)


gap = st.sampled_from(["", "\n", " , ", "\nlog\n", "]", "}", "\0", "\n\ufeff", "{}", '"', "[", "[1]"])
array = st.lists(event, max_size=4).map(json.dumps)
document = array | array.map(lambda text: f'{{"a": [1, {{}}], "traceEvents": {text}, "b": "}}]"}}')


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(document, gap), min_size=1, max_size=5), st.integers(8, 600))
def test_both_lanes_read_documents_alike(tmp_path, monkeypatch, parts, size):
    monkeypatch.setattr(eventarray, "CHUNK_BYTES", size)
    monkeypatch.setattr(eventarray, "_SMALL_ARRAY", size // 2)
    monkeypatch.setattr("pipeline.extract.bytestream.BLOCK_BYTES", max(1, size // 3))
    monkeypatch.setattr("pipeline.extract.bytestream.HEAD_BYTES", 4)
    path = tmp_path / "t.json"
    path.write_text("".join(text + between for text, between in parts), encoding="utf-8", errors="replace")
    found = read(path)
    assert read(path, "reference") == found
    if all(between.strip(" \n,\ufeff") == "" for _, between in parts):
        wanted = [text if text[0] == "[" else json.dumps(json.loads(text)["traceEvents"]) for text, _ in parts]
        assert len(found[0]) == sum(len(json.loads(text)) for text in wanted)
        assert set(found[1]) <= {BEHIND, "text_repaired", "no_events"}


@pytest.mark.parametrize(
    "text",
    [
        "[" + "{" * 100_000,
        "[" + '{"a, {"ph" }, ' * 60_000,
        "[1, {}, " * 20_000,
        "[{}]" * 3_000,
        "[" + "9" * 3_000_000 + "]",
        '{"x": ' + '"traceEvents":[' * 60_000,
        "[" * 200_000,
        '{"traceEvents": [{}' + "]" * 200_000,
    ],
    ids=["braces", "unclosed", "mixed", "tiny", "digits", "namesakes", "brackets", "closing"],
)
def test_hostile_text_costs_no_more_than_its_length(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    begin = time.process_time()
    with contextlib.suppress(InputError):
        read(path)
    assert time.process_time() - begin < 30
