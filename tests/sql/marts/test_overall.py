"""Where the time of a device went: int_device_time, overall."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.events import collective, gpu_step, kernel, launch, memcpy, memset, op, step, sync
from tests.support.views import views

PARTS = ("Computing Time", "Uncovered Communication Time", "SDMA", "Free")
SPLIT = (*PARTS, "E2E Time", "Free Time", "Communication Time", "Overlapped Communication")


def split(*events, of="step is null"):
    """Metric -> time, without the classes of kernels."""
    found = views(*events).pairs(f"select metric, duration_ns from marts.overall where {of}")
    return {metric: time for metric, time in found.items() if metric in SPLIT}


def classes(*events):
    """Class of kernels -> (time, activities, sum of durations)."""
    return views(*events).pairs(
        "select metric, duration_ns, call_count, total_duration_ns from marts.overall"
        " where step is null and metric not in " + str(SPLIT)
    )


# -- unions of intervals -----------------------------------------------------------------------------------


def test_all_kinds_of_overlap_in_one_picture():
    #               0         10        20        30        40        50        60
    # compute       ├─────────┤                   ├────────────┤
    # compute            ├─────────┤
    # collective              ├─────────┤              ├────┤
    # copy                                   ├────────────┤           ├─────────┤
    # computing     ███████████████               ██████████████                    15 + 13
    # uncovered                    ▒▒▒▒▒                                            5
    # SDMA                                   ░░░░░                    ░░░░░░░░░░░   5 + 10
    # free                              ⎵⎵⎵⎵⎵                    ⎵⎵⎵⎵⎵              5 + 7
    events = [
        kernel("gemm", 0, 10, stream=1),
        kernel("add_kernel", 5, 10, stream=2),
        collective("allreduce", 10, 10),
        memcpy(25, 13, stream=3),
        kernel("gemm", 30, 13, stream=1),
        collective("allreduce", 35, 5),
        memcpy(50, 10, stream=3),
    ]
    assert split(*events) == {
        "E2E Time": 60,
        "Computing Time": 15 + 13,
        "Uncovered Communication Time": 5,
        "Free Time": 60 - 28 - 5,
        "SDMA": 5 + 10,
        "Free": 5 + 7,
        "Communication Time": 15,
        "Overlapped Communication": 10,
    }


def test_time_is_counted_once_where_streams_overlap():
    # stream 1 ├─────────┤
    # stream 2      ├─────────┤
    # stream 3  ├──┤
    split_of = split(kernel("a", 0, 10, 1), kernel("b", 5, 10, 2), kernel("c", 1, 3, 3))
    assert split_of["Computing Time"] == split_of["E2E Time"] == 15


def test_an_activity_inside_a_longer_one_that_started_earlier_adds_nothing_even_after_a_shorter_one():
    # long   ├────────────────────┤
    # short    ├─┤
    # late                   ├─┤
    assert split(kernel("long", 0, 100, 1), kernel("short", 5, 5, 2), kernel("late", 90, 5, 3))["Computing Time"] == 100


def test_activities_that_touch_leave_no_gap():
    assert split(kernel("a", 0, 10), kernel("b", 10, 10))["Free"] == 0


def test_communication_covered_by_compute_is_overlapped():
    # compute     ├────────────┤
    # collective       ├───────────┤
    times = split(kernel("gemm", 0, 10), collective("allreduce", 5, 10))
    assert (times["Uncovered Communication Time"], times["Overlapped Communication"]) == (5, 5)


def test_a_copy_counts_only_where_neither_compute_nor_communication_run():
    # compute     ├────┤
    # collective       ├────┤
    # copy        ├──────────────┤
    times = split(kernel("gemm", 0, 5), collective("allreduce", 5, 5), memcpy(0, 15))
    assert times["SDMA"] == 5


def test_a_fill_and_a_copy_written_as_a_kernel_are_copies():
    times = split(
        kernel("gemm", 0, 5), memset(5, 5), kernel("__amd_rocclr_copyBuffer", 10, 5), kernel("MEMORY_COPY_X", 15, 5)
    )
    assert (times["Computing Time"], times["SDMA"]) == (5, 15)


def test_the_span_ends_with_the_latest_end_not_with_the_last_start():
    # ├──────────────────┤
    #     ├──┤
    assert split(kernel("a", 10, 30, 1), kernel("b", 20, 5, 2))["E2E Time"] == 30


def test_an_activity_of_no_length_spans_nothing_and_counts():
    times = views(kernel("a", 10, 0)).pairs("select metric, duration_ns, call_count, share_of_e2e from marts.overall")
    assert times["E2E Time"] == (0, 1, None)
    assert times["Free"] == (0, None, None)


def test_the_devices_of_each_run_are_counted_from_0():
    house = views(v1=[kernel("a", 0, 5, device=1)], v2=[kernel("a", 0, 5, device=d) for d in (2, 7)])
    ordinals = "select distinct run_id, device, device_ordinal from marts.overall order by all"
    assert house.rows(ordinals) == [("v1", 1, 0), ("v2", 2, 0), ("v2", 7, 1)]


def test_synchronisation_and_markers_on_device_tracks_never_count():
    times = split(kernel("a", 10, 5), sync("Stream Sync", 0, 100), gpu_step(1, 0, 100))
    assert times["E2E Time"] == 5


# -- classes of kernels ----------------------------------------------------------------------------------------


def launched(operator, name, start, duration, correlation):
    """A kernel launched by an operator of its own."""
    return [
        op(operator, start, 2, tid=correlation),
        launch("cudaLaunchKernel", start + 1, 0, correlation=correlation, tid=correlation),
        kernel(name, start, duration, stream=correlation, correlation=correlation),
    ]


def test_where_kernels_overlap_the_time_is_of_the_one_that_started_first():
    # gemm       ├─────────┤
    # add_kernel      ├─────────┤    5 of its own
    # flash        ├──┤              covered
    assert classes(
        kernel("gemm", 0, 10, 1), kernel("elementwise_kernel", 5, 10, 2), kernel("flash_fwd_kernel", 2, 4, 3)
    ) == {
        "Matmul": (10, 1, 10),
        "Matmul (Cube)": (10, 1, 10),
        "Vector": (5, 1, 10),
        "Vector (No Trans)": (5, 1, 10),
        "Flash Attention": (0, 1, 4),
        "Flash Attention (Forward, Cube)": (0, 1, 4),
    }


def test_collectives_and_copies_take_no_time_from_a_class():
    assert classes(collective("allreduce", 0, 20), memcpy(0, 20), kernel("gemm", 5, 10))["Matmul"] == (10, 1, 10)


def test_convolutions_and_flash_attention_are_split_by_direction_and_unit():
    events = [
        launched("aten::convolution", "conv_fprop_kernel", 0, 10, 1),
        launched("aten::convolution_backward", "conv_dgrad_kernel", 10, 10, 2),
        launched("aten::convolution", "elementwise_kernel", 20, 10, 3),
        launched("aten::_flash_attention_backward", "flash_bwd_kernel", 30, 10, 4),
        launched("aten::mm", "gemm", 40, 10, 5),
        kernel("flash_fwd_kernel", 50, 5),
        kernel("what", 60, 5),
    ]
    assert {metric: times[0] for metric, times in classes(*events).items()} == {
        "Conv": 30,
        "Conv (Forward, Cube)": 10,
        "Conv (Backward, Cube)": 10,
        "Conv (Forward, Vector)": 10,
        "Flash Attention": 15,
        "Flash Attention (Backward, Cube)": 10,
        "Flash Attention (Forward, Cube)": 5,
        "Matmul": 10,
        "Matmul (Cube)": 10,
        "Other": 5,
    }


def test_the_tree_is_in_order_with_every_part_under_its_whole():
    house = views(
        kernel("gemm", 0, 5), kernel("what", 10, 5), kernel("flash_fwd_kernel", 20, 5), collective("allreduce", 30, 5)
    )
    assert house.rows("select metric, parent_metric, depth, is_part from marts.overall order by metric_order") == [
        ("E2E Time", None, 0, False),
        ("Computing Time", "E2E Time", 1, True),
        ("Flash Attention", "Computing Time", 2, False),
        ("Flash Attention (Forward, Cube)", "Flash Attention", 3, False),
        ("Matmul", "Computing Time", 2, False),
        ("Matmul (Cube)", "Matmul", 3, False),
        ("Other", "Computing Time", 2, False),
        ("Uncovered Communication Time", "E2E Time", 1, True),
        ("Free Time", "E2E Time", 1, False),
        ("SDMA", "Free Time", 2, True),
        ("Free", "Free Time", 2, True),
        ("Communication Time", None, 0, False),
        ("Overlapped Communication", "Communication Time", 1, False),
    ]


def test_shares_are_parts_of_the_e2e_time_and_counts_are_of_activities():
    house = views(kernel("gemm", 0, 25), kernel("gemm", 0, 20, 8), collective("allreduce", 25, 25), memcpy(75, 25))
    columns = "select metric, share_of_e2e, call_count, total_duration_ns from marts.overall"
    found = house.pairs(columns)
    assert {metric: found[metric] for metric in SPLIT} == {
        "E2E Time": (1.0, 4, None),
        "Computing Time": (0.25, 2, 45),
        "Uncovered Communication Time": (0.25, 1, 25),
        "Free Time": (0.5, None, None),
        "SDMA": (0.25, 1, 25),
        "Free": (0.25, None, None),
        "Communication Time": (0.25, 1, 25),
        "Overlapped Communication": (0.0, None, None),
    }


# -- scopes ------------------------------------------------------------------------------------------------------


def test_each_step_has_its_own_span_and_unions_by_launch():
    #             0         100       200       300
    # host       ├─── 1 ───┤├─── 2 ───┤
    # launches     │a    │b   │c
    # device         ├a─┤         ├b─┤
    #                               ├c─┤
    # kernel d, launched in no step                    ├d┤
    events = [
        step(1, 0, 100),
        step(2, 100, 100),
        [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (10, 90, 120, 250)],
        kernel("a", 40, 20, 1, correlation=10),
        kernel("b", 190, 20, 1, correlation=90),
        kernel("c", 200, 30, 2, correlation=120),
        kernel("d", 300, 10, 1, correlation=250),
    ]
    one, two, whole = (split(*events, of=scope) for scope in ("step = 1", "step = 2", "step is null"))
    assert (one["E2E Time"], one["Computing Time"], one["Free"]) == (210 - 40, 40, 130)
    assert (two["E2E Time"], two["Computing Time"], two["Free"]) == (30, 30, 0)
    assert (whole["E2E Time"], whole["Computing Time"]) == (310 - 40, 20 + 40 + 10)


def test_each_device_has_its_own_set():
    house = views(
        kernel("a", 0, 10, device=2),
        kernel("b", 5, 20, device=5),
        memcpy(30, 5, device=5),
        step(1, 0, 1),
        launch("x", 0, 0, correlation=1),
        kernel("c", 40, 1, device=5, correlation=1),
    )
    found = house.rows(
        "select step, device, device_ordinal, duration_ns from marts.overall where metric = 'E2E Time' order by all"
    )
    # The ordinal is the place among the run's devices, also in a step where the first of them did nothing.
    assert found == [(1, 5, 1, 1), (None, 2, 0, 10), (None, 5, 1, 36)]


def test_a_run_without_device_activities_has_rows_without_durations():
    house = views(op("aten::mm", 0, 10), step(1, 0, 100), kernel("no time", 5, None))
    assert house.rows(
        "select step, device, metric, duration_ns, call_count, share_of_e2e, is_part from marts.overall"
    ) == [
        (None, None, metric, None, None, None, metric in PARTS)
        for metric in ("E2E Time", "Computing Time", "Uncovered Communication Time", "Free Time", "SDMA", "Free")
    ]


def test_runs_are_apart():
    house = views(v1=[kernel("a", 0, 10)], v2=[kernel("b", 5, 20)])
    e2e = "select run_id, duration_ns from marts.overall where metric = 'E2E Time'"
    assert house.pairs(e2e) == {"v1": 10, "v2": 20}


# -- time added by each activity -----------------------------------------------------------------------------------


def test_an_activity_adds_what_nothing_before_it_covers_to_each_union():
    #              0    5    10   15   20
    # 0 compute    ├─────────┤
    # 1 collective      ├─────────┤
    # 2 copy            ├──────────────┤
    # 3 compute                 ├─────┤ (12–19)
    house = views(kernel("gemm", 0, 10, 1), collective("allreduce", 5, 10), memcpy(5, 15, 3), kernel("gemm", 12, 7, 1))
    columns = "compute_part_ns, communication_part_ns, busy_part_ns, active_part_ns"
    assert house.pairs(f"select event_index, {columns} from intermediate.int_device_time") == {
        0: (10, 0, 10, 10),
        1: (0, 10, 5, 0),
        2: (0, 0, 0, 10),
        3: (7, 0, 4, 0),
    }


def test_an_activity_of_a_step_is_in_two_scopes():
    house = views(
        step(1, 0, 10), launch("x", 5, 1, correlation=1), kernel("a", 20, 5, correlation=1), kernel("b", 30, 5)
    )
    assert house.rows("select step, event_index from intermediate.int_device_time order by all") == [
        (1, 2),
        (None, 2),
        (None, 3),
    ]


# -- against sets of nanoseconds in plain Python ---------------------------------------------------------------------

# name -> (class of activity, metric of its class, metric of its part)
NAMES = {
    "gemm": ("compute", "Matmul", "Matmul (Cube)"),
    "gemv": ("compute", "Matmul", "Matmul (Vector)"),
    "flash_fwd_kernel": ("compute", "Flash Attention", "Flash Attention (Forward, Cube)"),
    "elementwise": ("compute", "Vector", "Vector (No Trans)"),
    "batched_transpose": ("compute", "Vector", "Vector (Trans)"),
    "paged_attention_v1": ("compute", "Paged Attention", None),
    "mystery": ("compute", "Other", None),
    "ncclKernel_AllReduce": ("communication", None, None),
    "__amd_rocclr_copyBuffer": ("copy", None, None),
}
STEP_LENGTH = 100


def expected(activities):
    """(name, device, stream, step or None, start, duration) -> {(step, device): {metric: time}}."""
    found = {}
    for scope in {None} | {activity[3] for activity in activities}:
        for device in {activity[1] for activity in activities}:
            chosen = [
                (start, -duration, place, name)
                for place, (name, where, _, at, start, duration) in enumerate(activities)
                if where == device and scope in (None, at)
            ]
            if not chosen:
                continue
            moments = {"compute": set(), "communication": set(), "copy": set()}
            of_class = Counter()
            for start, negative, _, name in sorted(chosen):
                group, whole, part = NAMES[name]
                new = set(range(start, start - negative)) - moments[group]
                moments[group] |= new
                for metric in {whole, part} - {None}:
                    of_class[metric] += len(new)
            compute, communication, copy = moments.values()
            e2e = max(start - negative for start, negative, _, _ in chosen) - min(start for start, *_ in chosen)
            found[scope, device] = dict(of_class) | {
                "E2E Time": e2e,
                "Computing Time": len(compute),
                "Uncovered Communication Time": len(communication - compute),
                "Free Time": e2e - len(compute | communication),
                "SDMA": len(copy - compute - communication),
                "Free": e2e - len(compute | communication | copy),
                "Communication Time": len(communication),
                "Overlapped Communication": len(communication & compute),
            }
    return found


def in_sql(activities):
    """The same by the view, which must also keep its sums."""
    events = [kernel(name, start, duration, stream, device, correlation=place + 1 if at else None)
              for place, (name, device, stream, at, start, duration) in enumerate(activities)]  # fmt: skip
    events += [step(number, number * STEP_LENGTH, STEP_LENGTH) for number in (1, 2)]
    events += [
        launch("cudaLaunchKernel", at * STEP_LENGTH + 5, 1, correlation=place + 1)
        for place, (_, _, _, at, _, _) in enumerate(activities)
        if at
    ]
    house = views(events)
    found = {}
    for scope, device, metric, time in house.rows("select step, device, metric, duration_ns from marts.overall"):
        found.setdefault((scope, device), {})[metric] = time
    for metrics in found.values():
        assert sum(metrics[part] for part in PARTS) == metrics["E2E Time"]
    parts = house.rows(
        "select whole.step, whole.device, whole.metric, whole.duration_ns, sum(part.duration_ns)"
        " from marts.overall whole inner join marts.overall part"
        " on whole.step is not distinct from part.step and whole.device = part.device"
        " and part.parent_metric = whole.metric where whole.metric <> 'Communication Time' group by all"
    )
    assert all(time == total for *_, time, total in parts)
    return found


ACTIVITY = st.tuples(
    st.sampled_from(sorted(NAMES)),
    st.sampled_from([0, 3]),
    st.sampled_from([0, 7]),
    st.sampled_from([None, 1, 2]),
    st.integers(0, 15),
    st.integers(0, 9),
).filter(lambda activity: activity[4] + activity[5] > 0)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(ACTIVITY, min_size=1, max_size=14))
def test_every_metric_is_the_one_that_sets_of_nanoseconds_give(activities):
    assert in_sql(activities) == expected(activities)


@pytest.mark.parametrize("span", [200, 5_000])
def test_every_metric_is_the_one_that_sets_of_nanoseconds_give_for_five_hundred_activities(span):
    numbers = random.Random(span)
    activities = [
        (
            numbers.choice(sorted(NAMES)),
            numbers.choice([0, 3]),
            numbers.choice([0, 7]),
            numbers.choice([None, 1, 2]),
            numbers.randrange(span),
            numbers.choice([1, 3, 9, 27]),
        )
        for _ in range(500)
    ]
    assert in_sql(activities) == expected(activities)
