"""Views over the profiler's own Overlap Analysis, and over traces of several devices, each of which has one."""

from __future__ import annotations

import pytest

from tests.support.events import detail, event, on_track, overlap, sample, task, tracks
from tests.support.views import views


def named(pid, name):
    """The name of a process."""
    return event(None, "process_name", None, None, phase="M", pid=pid, tid=0, args={"name": name})


KINDS = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def analysis(pid="overlap", threads=True, start=0):
    """An Overlap Analysis of 1000: 300 computing, 400 communication, of which 200 are covered, and 500 free."""
    parts = ((0, 0, 300), (1, 100, 400), (2, 300, 200), (3, 500, 500))
    names = [
        event(None, "thread_name", None, None, phase="M", pid=pid, tid=kind, args={"name": name})
        for kind, name in enumerate(KINDS)
    ]
    return [
        named(pid, "Overlap Analysis"),
        *(names if threads else []),
        *(
            on_track(pid, KINDS[kind] if not threads else "interval", start + at, duration, kind)
            for kind, at, duration in parts
        ),
    ]


FIGURES = {
    "E2E Time": 1000,
    "Computing Time": 300,
    "Uncovered Communication Time": 200,
    "Free Time": 500,
    "Communication Time": 400,
    "Overlapped Communication": 200,
}


def figures(house):
    return house.pairs(
        "select metric, duration_ns from marts.overall where step is null and depth < 2 and duration_ns is not null"
    )


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("kernels", [True, False])
def test_an_overlap_analysis_is_taken_by_its_threads_or_its_events_with_or_without_activities(threads, kernels):
    kernel = [*tracks(), task("k", 10, 20), detail("k", "Add", 10, 20)] if kernels else []
    house = views(analysis(threads=threads), kernel)
    assert figures(house) == FIGURES
    assert house.rows("select duration_ns from marts.overall where metric = 'Free' and step is null") == (
        [(500,)] if kernels else [(None,)]
    )


def test_an_overlap_analysis_that_names_nothing_is_none():
    house = views(
        tracks(), task("k", 10, 20), named("own", "Overlap Analysis"), on_track("own", "interval", 0, 1_000, 7)
    )
    assert house.rows("select * from intermediate.int_overlap") == []
    assert figures(house)["E2E Time"] == 20


def test_an_analysis_is_of_the_first_device_where_the_tables_tell_more_than_one():
    house = views(
        tracks(),
        [overlap(0, 0, 30), overlap(3, 30, 10)],
        [detail(f"k{device}", "Add", 0, 20, device=device) for device in (4, 5)],
    )
    found = "select device, duration_ns from marts.overall where step is null and metric = 'Computing Time'"
    assert house.pairs(found) == {4: 30, 5: 20}
    assert house.rows("select device, metric, difference_ns from marts.overlap_check where not agrees order by 2") == [
        (4, "Computing Time", 10),
        (4, "E2E Time", 20),
        (4, "Free Time", 10),
    ]


#                0     100    140  160   200     250
# first device          [ 40 ]  copy      [ coll. ]
# second device         [  41 ] copy      [ coll. ]      30 later
PARTS = (
    ("E2E Time", 150),
    ("Computing Time", 40),
    ("Uncovered Communication Time", 50),
    ("SDMA", 5),
    ("Free", 55),
)


def device(place, *, analysed, pids=(9, 10)):
    """Tracks of one of two devices. As text, 10 comes before 9."""
    hardware, hccl, own = (f"{kind}{pids[place]}" for kind in (1, 2, 3))
    group = {"name": "Group 0 Communication"}
    at = 30 * place
    intervals = ((0, 100, 40 + place), (1, 200, 50), (2, 200, 50), (3, 140 + place, 60 - place))
    return [
        named(hardware, "Ascend Hardware"),
        named(hccl, "Communication"),
        named(own, "Overlap Analysis"),
        event(None, "thread_name", None, None, phase="M", pid=hccl, tid=0, args=group),
        on_track(hardware, "mm", 100 + at, 40 + place, 2, args={"Task Type": "AI_CORE"}),
        on_track(hardware, "MEMCPY_ASYNC", 160 + at, 5, 2, args={"Task Type": "SDMA_SQE"}),
        on_track(hccl, "hcom_allReduce__1_0_1", 200 + at, 50),
        [on_track(own, KINDS[kind], start + at, duration, kind) for kind, start, duration in intervals if analysed],
    ]


@pytest.mark.parametrize("analysed", [True, False])
@pytest.mark.parametrize(
    ("tables", "numbers"),
    [
        ([], (0, 1)),
        ([detail("mm", "MatMulV2", 100 + 30 * place, 40 + place) for place in (0, 1)], (0, 1)),
        ([detail("mm", "MatMulV2", 100 + 30 * place, 40 + place, device=4 + place) for place in (1, 0)], (4, 5)),
        # Samples of memory may count devices otherwise than the kernel details, which come first.
        ([detail("mm", "MatMulV2", 100 + 30 * place, 40 + place, device=4 + place) for place in (0, 1)]
         + [sample("PTA", 0, 8, device=0)], (4, 5)),
        ([sample("PTA", 0, 8, device=place) for place in (2, 7)], (2, 7)),
        ([sample("PTA", 0, 8, device=6)], (0, 1)),
    ],
)  # fmt: skip
def test_each_device_of_a_trace_has_its_own_tracks_and_its_own_analysis(analysed, tables, numbers):
    house = views(device(0, analysed=analysed), device(1, analysed=analysed), tables)
    found = "select device, metric, duration_ns from marts.overall where step is null order by 1"
    figures = house.rows(found)
    for place, number in enumerate(numbers):
        for metric, duration in PARTS:
            longer = {"Computing Time": place, "Free": -place}.get(metric, 0)
            assert (number, metric, duration + longer) in figures
    assert {row[0] for row in figures} == set(numbers)
    checks = house.rows("select distinct device, agrees from marts.overlap_check order by 1")
    assert checks == ([(number, True) for number in numbers] if analysed else [])
    assert house.rows("select kind from marts.problem") == []


def test_kernels_that_start_at_once_on_two_devices_find_each_its_own_stream_and_copies():
    names = [named("10", "Ascend Hardware"), named("11", "Ascend Hardware")]
    house = views(
        names,
        [on_track(str(10 + place), "k", 100, 5, 2 + place, args={"Task Type": "AI_CORE"}) for place in (0, 1)],
        [on_track("10", "MEMCPY_ASYNC", 120, 5, stream, args={"Task Type": "SDMA_SQE"}) for stream in (2, 3)],
        [detail(f"k{place}", "Add", 100, 5, device=place) for place in (0, 1)],
    )
    told = "select pid, device, is_told from intermediate.int_track_device order by 1"
    assert house.rows(told) == [("10", 0, True), ("11", 1, True)]
    assert house.rows("select device, device_count from intermediate.int_known_device order by place") == [
        (0, 2),
        (1, 2),
    ]
    found = "select activity_name, device, stream from intermediate.int_activity order by all"
    assert house.rows(found) == [("MEMCPY_ASYNC", 0, 2), ("k0", 0, 2), ("k1", 1, 3)]


def test_analyses_of_two_devices_without_activities_are_those_of_two():
    house = views(analysis(), analysis(pid="other", start=100))
    found = "select device, device_ordinal, duration_ns from marts.overall where metric = 'E2E Time' order by 1"
    assert house.rows(found) == [(0, 0, 1000), (1, 1, 1000)]


def test_what_is_known_of_devices_is_told():
    house = views(
        activities=[tracks(), task("k", 10, 20), overlap(0, 10, 20)],
        analysed=analysis(),
        sampled=[sample("PTA", 0, 8)],
        summed=[("statistic", {"source": "step_trace_time", "step": 1, "total_ns": 5})],
        host=[("statistic", {"source": "api_statistic", "name": "aclrtMalloc", "total_ns": 5})],
    )
    assert house.pairs("select run_id, device_source from marts.run") == {
        "activities": "activities",
        "analysed": "overlap analysis",
        "sampled": "tables",
        "summed": "tables",
        "host": None,
    }
