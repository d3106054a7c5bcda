"""Given cases about what an event is, and of which device, stream and step, each with the outcome of its `expected.md`.

The same kinds of fault are tested on rows of our own in `views/test_event.py`, `views/test_flow_launch.py` and
`views/test_step.py`. Numbers are in nanoseconds.
"""

from __future__ import annotations

import pytest

import pipeline
from tests.support.asking import pairs, rows
from tests.support.paths import CASES, needs_shared

pytestmark = needs_shared


@pytest.fixture
def read(tmp_path):
    """Ingest a case and return its run; the warehouse is `tmp_path`."""

    def ingest(case):
        (run,) = pipeline.ingest(next(CASES.glob(f"{case}-*")) / "a.json", label="a", warehouse=tmp_path)
        return run

    return ingest


def split(house, device=0, step=None):
    """E2E, computing, uncovered communication, copies and what is free, of a device."""
    scope = "step is null" if step is None else f"step = {step}"
    found = pairs(house, f"select metric, duration_ns from marts.overall where device = {device} and {scope}")
    return tuple(
        found[metric] for metric in ("E2E Time", "Computing Time", "Uncovered Communication Time", "SDMA", "Free")
    )


def operators(house):
    return pairs(house, "select operator_name, device_duration_ns from marts.operator where step is null")


def test_104_calls_of_a_driver_launch_and_waits_are_no_device_time(tmp_path, read):
    assert read("104").problems == ()
    assert split(tmp_path) == (80_000, 40_500, 0, 0, 39_500)
    assert operators(tmp_path) == {"aten::mm": 30_500, "aten::add": 10_000}
    calls = "select call_count, total_duration_ns from marts.host_call where call_name like 'zeCommandList%'"
    assert rows(tmp_path, f"{calls} and step is null") == [{"call_count": 2, "total_duration_ns": 12_000}]
    waits = "select synchronization_name, total_duration_ns from marts.synchronization"
    assert pairs(tmp_path, waits) == {"zeEventHostSynchronize": 500_000}


def test_106_what_an_mtia_device_ran_is_device_activity(tmp_path, read):
    assert read("106").problems == ()
    assert split(tmp_path) == (30_000, 25_000, 0, 5_000, 0)
    assert operators(tmp_path) == {"aten::mul": 30_000}


def test_107_without_arguments_the_process_is_the_device_and_flows_tell_the_launch(tmp_path, read):
    assert read("107").problems == ()
    assert pairs(tmp_path, "select distinct device, step from marts.overall") == {2: None}
    assert split(tmp_path, device=2) == (40_000, 20_000, 0, 10_000, 10_000)
    assert operators(tmp_path) == {"aten::add": 20_000, "aten::copy_": 10_000}
    kinds = "select activity_kind, bytes from intermediate.int_device_activity"
    assert pairs(tmp_path, kinds) == {"kernel": None, "memcpy": None}


def test_109_annotations_of_serving_are_calls_of_the_host(tmp_path, read):
    read("109")
    assert split(tmp_path) == (360_000, 240_000, 0, 0, 120_000)
    annotations = "select call_name, call_count from marts.host_call where call_kind = 'annotation' and step is null"
    assert pairs(tmp_path, annotations) == {"step[EXTEND bs=4]": 1, "step[DECODE bs=31]": 3}
    assert rows(tmp_path, "select * from marts.step") == []


def test_114_tracks_of_xla_tell_what_events_without_categories_are(tmp_path, read):
    assert read("114").problems == ()
    assert split(tmp_path) == (100_000, 40_000, 50_000, 0, 10_000)


def test_116_texts_name_devices_and_streams(tmp_path, read):
    assert read("116").problems == ()
    assert split(tmp_path, device=0) == (20_000, 20_000, 0, 0, 0)
    assert split(tmp_path, device=1) == (30_000, 20_000, 10_000, 0, 0)
    streams = "select device, list(stream order by stream) from intermediate.int_device_activity group by device"
    assert pairs(tmp_path, streams) == {0: [7], 1: [7, 21]}


def test_117_the_copy_of_a_marker_on_the_own_stream_tells_the_step(tmp_path, read):
    read("117")
    for step in (1, 2):
        metrics = pairs(tmp_path, f"select metric, duration_ns from marts.overall where step = {step}")
        assert (metrics["Computing Time"], metrics["Communication Time"]) == (90_000, 30_000)


def test_122_operators_that_another_thread_launches_have_their_device_time(tmp_path, read):
    read("122")
    backward = "autograd::engine::evaluate_function: MmBackward0"
    assert operators(tmp_path) == {"aten::mm": 40_000, backward: 70_000}
    flags = "select activity_name, is_backward from intermediate.int_device_activity"
    assert pairs(tmp_path, flags) == {"g_fwd": False, "g_bwd": True}


def test_134_events_of_roctracer_are_read_and_those_of_unnamed_processes_told(tmp_path, read):
    (told,) = read("134").problems
    assert told.startswith("1 × events are not understood")
    assert told.endswith("no category, process 2")
    assert split(tmp_path) == (143_000, 143_000, 0, 0, 0)
    counts = "select status, event_count, not_understood_count from marts.run"
    assert rows(tmp_path, counts) == [{"status": "complete", "event_count": 4, "not_understood_count": 1}]
