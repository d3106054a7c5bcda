"""Waits on device tracks: stg_synchronization, synchronization."""

from __future__ import annotations

from tests.support.events import event, kernel, launch, sync
from tests.support.views import views


def test_waits_are_counted_by_device_stream_and_kind():
    house = views(
        sync("Stream Sync", 10, 5),
        sync("Stream Sync", 20, 7),
        sync("Stream Sync", 20, 7, stream=8),
        sync("Stream Sync", 20, 7, device=1),
        sync("Context Sync", 30, 9, stream=-1),
    )
    assert house.rows("select * exclude (run_id) from marts.synchronization order by all") == [
        # device, stream, what, calls, sum
        (0, -1, "Context Sync", 1, 9),
        (0, 7, "Stream Sync", 2, 12),
        (0, 8, "Stream Sync", 1, 7),
        (1, 7, "Stream Sync", 1, 7),
    ]


def test_only_complete_records_of_device_tracks_with_a_usable_time_are_waits():
    house = views(
        sync("Stream Sync", 10, 0),
        sync("no duration", 10, None),
        sync("negative", 10, -5),
        sync("no start", None, 5),
        sync("an instant", 10, 5, phase="i"),
        event("CUDA_SYNC", "Event Sync", 10, 5, pid=3),
        launch("cudaDeviceSynchronize", 10, 5),
        kernel("k", 10, 5),
    )
    assert house.rows(
        "select event_index, synchronization_name, device from staging.stg_synchronization order by 1"
    ) == [
        (0, "Stream Sync", 0),
        (5, "Event Sync", 3),
    ]
