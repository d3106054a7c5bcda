"""One recording as other writers put it: other categories, texts for numbers, begins and ends. Its figures stay."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from tests.support.asking import rows

Event = dict[str, Any]
MARTS = ("overall", "operator", "kernel", "step", "host_call", "memory", "memory_peak", "communication", "module")
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
RENAMED = {
    "cuda_runtime": "privateuse1_runtime",
    "kernel": "Kernel",
    "gpu_memcpy": "acc_memcpy",
    "gpu_memset": "acc_memset",
    "gpu_user_annotation": "acc_user_annotation",
}
KEYS = {"correlation": "correlationId", "device": "deviceId", "stream": "streamId"}


def unchanged(event: Event) -> list[Event]:
    return [event]


def another_device(event: Event) -> list[Event]:
    return [event | {"cat": RENAMED.get(event.get("cat", ""), event.get("cat"))}]


def texts_for_tracks(event: Event) -> list[Event]:
    """As conversions from Nsight Systems: `Device 0`, `Stream 7`, nothing about it in the arguments."""
    if event.get("cat") not in ON_DEVICE and not (event.get("cat") == "ac2g" and event["ph"] == "f"):
        return [event]
    args = {key: value for key, value in event.get("args", {}).items() if key not in ("device", "stream")}
    return [event | {"pid": f"Device {event['pid']}", "tid": f"Stream {event['tid']}", "args": args}]


def begins_and_ends(event: Event) -> list[Event]:
    if event["ph"] != "X":
        return [event]
    place = {key: event[key] for key in ("pid", "tid", "name")}
    end = Decimal(str(event["ts"])) + Decimal(str(event["dur"]))
    begin = {key: value for key, value in event.items() if key != "dur"}
    return [begin | {"ph": "B"}, place | {"ph": "E", "ts": str(end)}]


def flows_alone(event: Event) -> list[Event]:
    """As traces of AMD devices in which activities have no ids."""
    args = event.get("args")
    if event.get("cat") not in ON_DEVICE or not args:
        return [event]
    return [event | {"args": {key: args[key] for key in args if key not in ("correlation", "External id")}}]


def other_keys(event: Event) -> list[Event]:
    args = event.get("args")
    return [event | {"args": {KEYS.get(key, key): args[key] for key in args}}] if args else [event]


def unsigned_ids(event: Event) -> list[Event]:
    args = event.get("args") or {}
    large = {key: args[key] + 2**63 for key in ("correlation", "Addr") if key in args}
    return [event | {"args": args | large}] if large else [event]


WORDS = (another_device, texts_for_tracks, begins_and_ends, flows_alone, other_keys, unsigned_ids)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    model = replace(demo_models()[0], steps=(3,))
    write_trace(model, folder / "trace.json")
    trace = json.loads((folder / "trace.json").read_text())
    for words in (unchanged, *WORDS):
        events = [said for event in trace["traceEvents"] for said in words(event)]
        assert (events == trace["traceEvents"]) == (words is unchanged)
        path = folder / f"{words.__name__}.json"
        path.write_text(json.dumps(trace | {"traceEvents": events}))
        (run,) = pipeline.ingest(path, warehouse=folder / "house")
        assert run.problems == ()
    return folder / "house"


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_the_figures_of_a_recording_do_not_depend_on_how_it_is_written(house, words):
    for mart in MARTS:
        ask = f"select * exclude (run_id) from marts.{mart} where run_id = '{{}}'"
        expected = rows(house, ask.format("unchanged"))
        assert expected, mart
        found = rows(house, ask.format(words.__name__))
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), mart
