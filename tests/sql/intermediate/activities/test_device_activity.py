"""What a device did and what launched it: int_activity_launch, int_device_activity, int_step, int_run_size."""

from __future__ import annotations

import pytest

from tests.support.events import (
    about,
    annotation,
    collective,
    detail,
    event,
    gpu_annotation,
    gpu_step,
    kernel,
    launch,
    memcpy,
    memory,
    memset,
    metadata,
    on_device,
    op,
    step,
    sync,
)
from tests.support.views import views

SOURCE = "select activity_name, operator_name, top_operator_name, launch_name from intermediate.int_device_activity"
STEPS = "select activity_name, step from intermediate.int_device_activity"
REASONS = "select activity_name, quarantine_reason from intermediate.int_device_activity"
SUSPECTS = "select activity_name, is_suspect from intermediate.int_device_activity"
NO_LAUNCH = "(no launch in the trace)"


# -- what is a device activity ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("kernel", "kernel"),
        ("Kernel", "kernel"),
        ("KERNEL", "kernel"),
        ("gpu_memcpy", "memcpy"),
        ("Memcpy", "memcpy"),
        ("memcpy", "memcpy"),
        ("gpu_memset", "memset"),
        ("Memset", "memset"),
    ],
)
def test_device_activities_are_told_by_category_in_any_case_and_age(category, kind):
    house = views(on_device(category, "k", 10, 5, 7, 0))
    assert house.one("select activity_kind, start_ns, end_ns from staging.stg_device_activity") == (kind, 10, 15)


def test_other_rows_on_device_tracks_never_count():
    house = views(
        kernel("k", 10, 5),
        gpu_annotation("forward", 0, 90),
        gpu_step(1, 0, 95),
        sync("Stream Sync", 0, 99),
        on_device("overhead", "Instrumentation", 0, 99, 7, 0),
        on_device("kernel", "an instant", 20, 1, 7, 0, phase="i"),
    )
    assert house.rows("select activity_name from intermediate.int_device_activity") == [("k",)]
    assert house.one("select duration_ns from marts.overall where step is null and metric = 'E2E Time'") == (5,)


def test_device_and_stream_come_from_the_arguments_else_from_the_track():
    house = views(
        on_device("kernel", "arguments", 10, 1, stream=0, device=0, pid=5, tid=6),
        on_device("kernel", "track", 20, 1, stream=None, device=None, pid=3, tid="stream 21"),
        on_device("kernel", "no number", 30, 1, stream=None, device=None, pid="GPU", tid="default"),
    )
    assert house.pairs("select activity_name, device, stream from staging.stg_device_activity") == {
        "arguments": (0, 0),
        "track": (3, 21),
        "no number": (None, None),
    }


# -- launches --------------------------------------------------------------------------------------------


def test_the_launching_operator_is_the_innermost_around_the_launch_and_the_top_operator_the_outermost():
    # aten::linear ├───────────────────────┤
    # aten::mm        ├─────────────┤
    # cudaLaunchKernel   ├──┤ 9
    # gemm                                    ├────┤ 9
    house = views(
        op("aten::linear", 0, 40),
        op("aten::mm", 5, 20),
        launch("cudaLaunchKernel", 8, 4, correlation=9),
        kernel("gemm", 60, 12, correlation=9),
    )
    assert house.one(SOURCE) == ("gemm", "aten::mm", "aten::linear", "cudaLaunchKernel")
    links = "select launch_index, launch_start_ns from intermediate.int_activity_launch"
    assert house.one(links) == (2, 8)


@pytest.mark.parametrize("none", [0, -1, None])
def test_correlation_ids_0_and_minus_1_mean_no_launch(none):
    house = views(
        op("aten::mm", 0, 40), launch("cudaLaunchKernel", 8, 4, correlation=none), kernel("k", 60, 5, correlation=none)
    )
    assert house.one(SOURCE) == ("k", None, NO_LAUNCH, None)


def test_staging_has_no_ids_that_mean_none():
    ids = [(0, 0), (-1, -1), (None, None), (5, 6)]
    house = views(
        [launch("x", 10, 1, correlation=correlation, external_id=external) for correlation, external in ids],
        [kernel("k", 20, 1, correlation=correlation, external_id=external) for correlation, external in ids],
    )
    for staged in ("staging.stg_host_call", "staging.stg_device_activity"):
        found = house.rows(f"select correlation, external_id from {staged} order by event_index")
        assert found == [(None, None), (None, None), (None, None), (5, 6)]


def test_a_correlation_id_without_a_call_is_no_launch():
    house = views(launch("cudaLaunchKernel", 8, 4, correlation=1), kernel("k", 60, 5, correlation=2))
    assert house.one(SOURCE) == ("k", None, NO_LAUNCH, None)


def test_a_launch_outside_any_operator_leaves_a_row_named_no_operator():
    house = views(
        annotation("forward", 0, 40),
        launch("cudaLaunchKernel", 8, 4, correlation=9),
        kernel("k", 60, 5, correlation=9),
    )
    assert house.one(SOURCE) == ("k", None, "(no operator)", "cudaLaunchKernel")


@pytest.mark.parametrize("name", ["cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch"])
def test_one_graph_launch_has_many_activities(name):
    house = views(
        launch(name, 8, 4, correlation=9),
        kernel("a", 60, 5, correlation=9),
        kernel("b", 70, 5, correlation=9),
        memcpy(80, 5, name="c", correlation=9),
    )
    assert house.rows(SOURCE + " order by 1") == [
        ("a", None, "(graph launch)", name),
        ("b", None, "(graph launch)", name),
        ("c", None, "(graph launch)", name),
    ]
    assert house.one("select count(distinct launch_index) from intermediate.int_activity_launch") == (1,)


def test_a_graph_launch_inside_an_operator_belongs_to_the_operator():
    house = views(
        op("replay", 0, 40), launch("cudaGraphLaunch", 8, 4, correlation=9), kernel("a", 60, 5, correlation=9)
    )
    assert house.one(SOURCE) == ("a", "replay", "replay", "cudaGraphLaunch")


def test_correlation_ids_are_compared_within_one_run():
    house = views(
        v1=[op("aten::mm", 0, 40), launch("cudaLaunchKernel", 8, 4, correlation=9)],
        v2=[kernel("k", 60, 5, correlation=9, external_id=3)],
    )
    assert house.one(SOURCE) == ("k", None, NO_LAUNCH, None)


def test_only_runtime_calls_are_launches():
    house = views(op("aten::mm", 0, 40, correlation=9), kernel("k", 60, 5, correlation=9))
    assert house.one(SOURCE) == ("k", None, NO_LAUNCH, None)


def test_of_two_calls_with_one_correlation_the_first_in_the_file_is_the_launch():
    house = views(
        launch("cudaLaunchKernel", 8, 10, correlation=9),
        event("cuda_driver", "cuLaunchKernel", 9, 4, correlation=9),
        kernel("k", 60, 5, correlation=9),
    )
    assert house.rows(SOURCE) == [("k", None, "(no operator)", "cudaLaunchKernel")]


# -- External id -----------------------------------------------------------------------------------------


def test_without_a_launch_the_external_id_names_the_operator():
    # 0 aten::linear       ├──────────────┤
    # 1 aten::mm (id 7)      ├─────────┤
    # 2 gemm (external id 7)                 ├──┤
    house = views(op("aten::linear", 0, 40), op("aten::mm", 5, 20, external_id=7), kernel("k", 60, 5, external_id=7))
    assert house.one(SOURCE) == ("k", "aten::mm", "aten::linear", None)


def test_the_launch_wins_over_the_external_id():
    house = views(
        op("aten::mm", 0, 20),
        launch("cudaLaunchKernel", 8, 4, correlation=9),
        op("aten::add", 30, 20, external_id=7),
        kernel("k", 60, 5, correlation=9, external_id=7),
    )
    assert house.one(SOURCE) == ("k", "aten::mm", "aten::mm", "cudaLaunchKernel")


def test_a_launch_outside_any_operator_falls_back_on_the_external_id():
    house = views(
        launch("cudaLaunchKernel", 8, 4, correlation=9),
        op("aten::add", 30, 20, external_id=7),
        kernel("k", 60, 5, correlation=9, external_id=7),
    )
    assert house.one(SOURCE) == ("k", "aten::add", "aten::add", "cudaLaunchKernel")


@pytest.mark.parametrize("none", [0, -1])
def test_external_ids_0_and_minus_1_mean_none(none):
    house = views(op("aten::mm", 0, 20, external_id=none), kernel("k", 60, 5, external_id=none))
    assert house.one(SOURCE) == ("k", None, NO_LAUNCH, None)


def test_correlation_and_external_id_are_two_id_spaces():
    # An operator's External id 9 is not the launch of correlation 9, and a launch's external id names no operator.
    house = views(
        op("aten::mm", 0, 20, external_id=9),
        launch("cudaLaunchKernel", 30, 4, correlation=5, external_id=6),
        kernel("by correlation", 60, 5, correlation=9),
        kernel("by external id", 70, 5, external_id=6),
    )
    assert house.rows(SOURCE + " order by start_ns") == [
        ("by correlation", None, NO_LAUNCH, None),
        ("by external id", None, NO_LAUNCH, None),
    ]


# -- forward and backward, shapes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ([op("aten::mm", 0, 40)], False),
        ([op("MmBackward0", 0, 40), op("aten::mm", 5, 20)], True),
        ([op("aten::convolution_backward", 0, 40)], True),
        ([op("aten::mm", 0, 40, forward_thread=1)], True),
        ([op("aten::mm", 0, 40, forward_thread=0)], False),
        ([], False),
    ],
)
def test_backward_is_told_by_the_name_of_an_operator_or_by_the_forward_thread(operators, expected):
    house = views(operators, launch("cudaLaunchKernel", 8, 4, correlation=9), kernel("k", 60, 5, correlation=9))
    assert house.one("select is_backward from intermediate.int_device_activity") == (expected,)


def test_input_shapes_are_those_of_the_innermost_operator():
    house = views(
        op("aten::linear", 0, 40, input_shapes="[[1]]"),
        op("aten::mm", 5, 20, input_shapes="[[8, 4]]"),
        launch("cudaLaunchKernel", 8, 4, correlation=9),
        kernel("k", 60, 5, correlation=9),
    )
    assert house.one("select input_shapes from intermediate.int_device_activity") == ("[[8, 4]]",)


# -- steps -----------------------------------------------------------------------------------------------


def test_an_activity_belongs_to_the_step_that_launched_it_wherever_it_runs():
    #               0         100       200       300
    # host          ├─── 1 ───┤├── 2 ───┤
    # launches          │ a   │ b  │ c       │ d
    # device                       ├a┤├b┤ ├c┤     ├d┤
    house = views(
        step(1, 0, 100),
        step(2, 100, 100),
        [launch("cudaLaunchKernel", at, 1, correlation=at) for at in (50, 99, 100, 250)],
        kernel("a", 150, 10, correlation=50),
        kernel("b", 160, 10, correlation=99),
        kernel("c", 180, 10, correlation=100),
        kernel("d", 290, 10, correlation=250),
    )
    assert house.pairs(STEPS) == {"a": 1, "b": 1, "c": 2, "d": None}


def test_without_a_launch_it_belongs_to_the_step_whose_device_annotation_covers_its_start():
    #              100  110                 200  210
    # device marker     ├──────── 1 ────────┤              the start counts, the end does not
    # kernels      ├a───┤├b┤               ├c──┤├d┤
    house = views(
        step(1, 0, 50),
        gpu_step(1, 110, 90),
        kernel("a", 109, 5),
        kernel("b", 110, 5),
        kernel("c", 199, 10),
        kernel("d", 200, 10),
    )
    assert house.pairs(STEPS) == {"a": None, "b": 1, "c": 1, "d": None}


def test_the_launch_wins_over_the_device_annotation_also_where_it_is_in_no_step():
    house = views(
        step(1, 0, 50),
        gpu_step(2, 100, 100),
        launch("cudaLaunchKernel", 10, 1, correlation=1),
        launch("cudaLaunchKernel", 60, 1, correlation=2),
        kernel("launched in 1", 110, 5, correlation=1),
        kernel("launched in none", 120, 5, correlation=2),
    )
    assert house.pairs(STEPS) == {"launched in 1": 1, "launched in none": None}


def test_the_device_annotation_is_that_of_the_activitys_own_device():
    # device 0   ├──── 5 ────┤├──── 6 ────┤
    # device 1       ├──── 5 ────┤├──── 6 ────┤      a little later
    # kernel on 1               ├┤                   in step 5 of its own device
    house = views(
        gpu_step(5, 100, 100, device=0),
        gpu_step(6, 200, 100, device=0),
        gpu_step(5, 150, 100, device=1),
        gpu_step(6, 250, 100, device=1),
        kernel("k", 220, 5, device=1),
    )
    assert house.pairs(STEPS) == {"k": 5}


def test_the_copies_of_a_marker_on_several_streams_of_a_device():
    # stream 7    ├────── 3 ──────┤├────── 4 ──────┤
    # stream 13   ├──────── 3 ────────┤├──── 4 ────┤   one begins where the other ends
    # stream 20      ├────────── 3 ─────────┤  ├─ 4 ─┤
    # kernels                       ├7┤├13a┤├13b┤├20a┤├20b┤; on stream 33, which has none, the later one counts
    marks = {7: [(100, 200), (200, 300)], 13: [(100, 225), (225, 300)], 20: [(120, 255), (260, 320)]}
    house = views(
        [
            gpu_annotation(f"ProfilerStep#{number}", start, end - start, stream=stream)
            for stream, spans in reversed(marks.items())
            for number, (start, end) in enumerate(spans, 3)
        ],
        kernel("7", 200, 5, stream=7),
        kernel("13a", 224, 1, stream=13),
        kernel("13b", 225, 5, stream=13),
        kernel("20a", 254, 3, stream=20),
        kernel("20b", 257, 2, stream=20),
        kernel("33a", 199, 2, stream=33),
        kernel("33b", 230, 2, stream=33),
        kernel("33c", 320, 2, stream=33),
    )
    assert house.pairs(STEPS) == {
        "7": 4, "13a": 3, "13b": 4, "20a": 3, "20b": 4, "33a": 3, "33b": 4, "33c": None
    }  # fmt: skip


def test_texts_in_the_arguments_tell_the_device_and_stream_of_markers_and_waits_as_of_kernels():
    known = {"pid": 77, "device": None, "stream": None, "args": {"device": "cuda:1", "stream": "Stream 9"}}
    house = views(
        event("gpu_user_annotation", "ProfilerStep#5", 100, 50, tid=1, **known),
        event("cuda_sync", "Stream Sync", 100, 10, tid=2, **known),
        event("kernel", "k", 120, 5, tid=3, **known),
    )
    assert house.pairs(STEPS) == {"k": 5}
    assert house.rows("select device, stream from staging.stg_device_activity") == [(1, 9)]
    assert house.rows("select device, stream from staging.stg_step_marker") == [(1, 9)]
    assert house.rows("select device, stream from marts.synchronization") == [(1, 9)]


def test_markers_of_other_devices_do_not_count_where_the_own_stream_has_none():
    # device 0    ├── 1 ──┤├───── 2 ───────┤
    #            100      150             250
    # device 1        ├──────── 1 ─────────┤
    house = views(
        gpu_step(1, 100, 50),
        gpu_step(2, 150, 100),
        gpu_step(1, 130, 120, device=1),
        kernel("of 0", 160, 5, stream=9),
        kernel("of 1", 160, 5, stream=9, device=1),
        kernel("before", 110, 5, stream=9, device=1),
    )
    assert house.pairs(STEPS) == {"of 0": 2, "of 1": 1, "before": None}


def test_an_annotation_with_a_correlation_launches_and_an_operator_with_one_does_not():
    house = views(
        annotation("thunk", 0, 20, correlation=5),
        op("aten::mm", 30, 20, correlation=6),
        kernel("a", 100, 5, correlation=5),
        kernel("b", 110, 5, correlation=6),
    )
    launches = "select activity_name, launch_name from intermediate.int_device_activity"
    assert house.pairs(launches) == {"a": "thunk", "b": None}


def test_of_calls_with_one_correlation_the_first_of_the_file_launches():
    house = views(
        launch("cuLaunchKernel", 12, 2, correlation=5),
        launch("cudaLaunchKernel", 10, 9, correlation=5),
        kernel("k", 100, 5, correlation=5),
    )
    assert house.one("select launch_name from intermediate.int_device_activity") == ("cuLaunchKernel",)


def test_a_step_is_one_row_from_its_markers_on_host_and_device():
    house = views(
        step(3, 10, 30, tid=1),
        step(3, 12, 40, tid=2),
        gpu_step(3, 20, 100),
        gpu_step(4, 200, 10),
        event("CPU_OP", "ProfilerStep#5", 70, 5),
        annotation("ProfilerStep#", 0, 1),
        annotation("ProfilerStep#1234567890123456789", 0, 1),
        event("python_function", "ProfilerStep#6", 0, 1),
        step(7, 80, None),
    )
    assert house.rows("select step, start_ns, end_ns from intermediate.int_step order by step") == [
        (3, 10, 52),
        (4, None, None),
        (5, 70, 75),
    ]
    markers = (
        "select event_index, step, on_device, device, start_ns, duration_ns from staging.stg_step_marker order by 1"
    )
    assert house.rows(markers) == [
        (0, 3, False, None, 10, 30),
        (1, 3, False, None, 12, 40),
        (2, 3, True, 0, 20, 100),
        (3, 4, True, 0, 200, 10),
        (4, 5, False, None, 70, 5),
    ]


def test_the_end_of_a_forward_backward_flow_tells_the_backward_pass():
    """
    thread 2   |-- my_op_grad --|      no "backward" in its name, but a fwdbwd flow ends at its start
                 launch → gemm
    """
    house = views(
        op("my_op", 0, 10),
        event("fwdbwd", "fwdbwd", 0, None, phase="s", flow_id="7"),
        op("my_op_grad", 100, 10, tid=2),
        event("fwdbwd", "fwdbwd", 100, None, phase="f", flow_id="7", tid="2"),
        launch("cudaLaunchKernel", 102, 2, correlation=1, tid=2),
        kernel("gemm", 110, 5, correlation=1),
    )
    assert house.rows("select flow_id, is_backward, tid, time_ns from staging.stg_forward_backward order by 4") == [
        ("7", False, "1", 0),
        ("7", True, "2", 100),
    ]
    assert house.one("select is_backward from intermediate.int_device_activity") == (True,)


def test_a_flow_that_ends_on_another_thread_or_of_another_process_tells_nothing():
    house = views(
        event("fwdbwd", "fwdbwd", 0, None, phase="s", flow_id="7"),
        event("fwdbwd", "fwdbwd", 100, None, phase="f", flow_id="7", tid="2"),
        [op("my_op", 100, 10, tid=tid, pid=pid) for tid, pid in ((2, 4242), (3, 4242), (2, 99))],
        [
            launch("cudaLaunchKernel", 102, 2, correlation=number, tid=tid, pid=pid)
            for number, (tid, pid) in enumerate(((2, 4242), (3, 4242), (2, 99)), 1)
        ],
        [kernel(f"k{number}", 200 + number, 1, correlation=number) for number in (1, 2, 3)],
    )
    backward = "select activity_name, is_backward from intermediate.int_device_activity"
    assert house.pairs(backward) == {"k1": True, "k2": False, "k3": False}


# -- quarantine ------------------------------------------------------------------------------------------


def test_activities_without_a_usable_time_are_quarantined_with_the_reason():
    house = views(
        kernel("good", 1000, 5),
        kernel("good, of no length", 1010, 0),
        kernel("no start", None, 5),
        kernel("no duration", 1020, None),
        kernel("negative", 1030, -1),
        kernel("zero", 0, 0),
        memcpy(1040, None, name="copy"),
    )
    assert house.pairs(REASONS) == {
        "good": None,
        "good, of no length": None,
        "no start": "no start",
        "no duration": "no duration",
        "negative": "negative duration",
        "zero": "start and duration are 0, far from the rest",
        "copy": "no duration",
    }


def test_a_start_and_duration_of_0_count_where_the_rest_is_not_far():
    # zero │        far: the rest begins at 9 and is 10 long
    # rest          ├─────────┤
    house = views(kernel("zero", 0, 0), kernel("rest", 9, 10))
    assert house.pairs(REASONS) == {"zero": None, "rest": None}
    house = views(kernel("zero", 0, 0), kernel("rest", 11, 10))
    assert house.pairs(REASONS)["zero"] == "start and duration are 0, far from the rest"
    house = views(kernel("zero", 0, 0))
    assert house.pairs(REASONS) == {"zero": None}


def test_quarantined_activities_count_nowhere():
    house = views(
        op("aten::mm", 900, 90),
        launch("cudaLaunchKernel", 905, 1, correlation=1),
        launch("cudaLaunchKernel", 907, 1, correlation=2),
        kernel("good", 1000, 5, correlation=1),
        kernel("no duration", 2000, None, correlation=2),
        kernel("negative", 3000, -5, device=1),
        memcpy(0, 0),
        collective("allreduce", 1010, -1),
    )
    split = "select duration_ns, call_count from marts.overall where metric = 'E2E Time'"
    assert house.rows(split) == [(5, 1)]
    assert house.rows("select kernel_name, call_count from marts.kernel") == [("good", 1)]
    assert house.rows("select operator_name, device_activity_count, device_duration_ns from marts.operator") == [
        ("aten::mm", 1, 5)
    ]
    assert house.rows("select * from marts.communication") == []
    sizes = "select device_activity_count, quarantined_count, device_count from intermediate.int_run_size"
    assert house.one(sizes) == (1, 4, 1)


# -- suspects --------------------------------------------------------------------------------------------


def test_an_activity_that_runs_past_the_next_start_on_its_own_stream_is_suspect():
    # stream 7   ├─────a─────┤├b┤
    #                 ├c┤                   inside a: a is suspect
    # stream 8       ├──d──┤                another stream: fine
    # stream 7, device 1 ├e┤                another device: fine
    house = views(
        kernel("a", 10, 30),
        kernel("b", 40, 5),
        kernel("c", 20, 5),
        kernel("d", 15, 20, stream=8),
        kernel("e", 22, 5, device=1),
    )
    assert house.pairs(SUSPECTS) == {"a": True, "b": False, "c": False, "d": False, "e": False}


def test_back_to_back_activities_are_not_suspect_and_a_quarantined_one_makes_none():
    house = views(kernel("a", 10, 10), memset(20, 5), kernel("b", 25, 10), kernel("no duration", 30, None))
    assert house.pairs(SUSPECTS) == {"a": False, "Memset (Device)": False, "b": False, "no duration": False}


SUSPECT_NAMES = (
    "select activity_name from intermediate.int_suspect"
    " inner join intermediate.int_activity using (run_id, event_index) order by 1"
)


def suspects(*events):
    """Names of the activities that cannot have run as recorded."""
    return [name for (name,) in views(*events).rows(SUSPECT_NAMES)]


def test_an_activity_of_no_length_neither_is_nor_makes_a_suspect():
    # ├──────long──────┤├─next─┤
    #     │thin           │thin2
    thin = [kernel("long", 1, 13), kernel("thin", 5, 0), kernel("thin2", 16, 0), kernel("next", 14, 9)]
    assert suspects(*thin) == []
    # What is hidden behind it still counts.
    assert suspects(kernel("long", 1, 13), kernel("thin", 5, 0), kernel("inside", 7, 2)) == ["long"]
    assert suspects(memcpy(1, 13), memset(5, 0)) == []


def test_branches_of_one_graph_launch_run_beside_each_other():
    graph = [
        launch("cudaGraphLaunch", 1, 3, correlation=5),
        kernel("left", 11, 20, correlation=5),
        kernel("right", 14, 5, correlation=5),
        memcpy(17, 20, correlation=5, name="copy"),
    ]
    assert suspects(*graph) == []
    # One of another launch that begins before the branches have ended is a contradiction, whichever stands between.
    assert suspects(*graph, kernel("other", 33, 3, correlation=6)) == ["copy"]
    assert suspects(*graph, kernel("other", 25, 3, correlation=6)) == ["copy", "left"]
    assert suspects(*graph, kernel("unlaunched", 25, 3)) == ["copy", "left"]
    # Without a launch there is no common one.
    assert suspects(kernel("left", 11, 20), kernel("right", 14, 5)) == ["left"]


@pytest.mark.parametrize("name", ["AMD Instinct MI300X", "Radeon RX 7900", "gfx942"])
def test_a_copy_beside_a_kernel_is_harmless_where_queues_are_merged(name):
    amd = about(device_name=name)
    assert suspects(amd, kernel("gemm", 11, 20), memcpy(15, 30), memset(20, 1)) == ["Memcpy HtoD"]
    assert suspects(amd, kernel("gemm", 11, 20), memcpy(15, 3), kernel("__amd_rocclr_copyBuffer", 21, 3)) == []
    assert suspects(amd, kernel("gemm", 11, 20), memcpy(13, 3), kernel("add", 25, 3)) == ["gemm"]
    assert suspects(amd, memcpy(11, 20), kernel("gemm", 13, 3), memcpy(25, 3)) == ["Memcpy HtoD"]


def test_an_amd_device_that_is_not_named_is_told_by_its_runtime():
    copies = [kernel("gemm", 11, 20, correlation=1), memcpy(15, 3, correlation=2)]
    assert suspects(launch("hipLaunchKernel", 1, 2, correlation=1), *copies) == []
    assert suspects(launch("cudaLaunchKernel", 1, 2, correlation=1), *copies) == ["gemm"]
    assert suspects(about(device_name="NVIDIA A100"), *copies) == ["gemm"]


@pytest.mark.parametrize(("unit", "others"), [(1000, 0), (250, 250), (100, 100)])
def test_an_overlap_no_longer_than_the_unit_of_the_clock_is_rounding(unit, others):
    # Starts are rounded to the unit, durations need not be.
    def overlapping(by):
        return [
            kernel("a", 10 * unit, 5 * unit + by),
            kernel("b", 15 * unit, 7 * unit),
            kernel("c", 23 * unit + others, 1),
        ]

    assert suspects(*overlapping(unit)) == []
    assert suspects(*overlapping(1)) == []
    assert suspects(*overlapping(unit + 1)) == ["a"]


def test_a_clock_of_nanoseconds_explains_no_overlap():
    assert suspects(kernel("a", 10_001, 5_001), kernel("b", 15_000, 7_000)) == ["a"]


def test_a_kernel_may_begin_before_the_end_of_the_one_before_where_devices_can_do_that():
    longer = kernel("b", 15, 20)

    def chain(name, major, second=longer):
        properties = metadata("deviceProperties", [{"id": 0, "name": name, "computeMajor": major}])
        return suspects(about(device_name=name), properties, kernel("a", 11, 9), second)

    assert chain("NVIDIA H100 80GB HBM3", 9) == []
    assert chain("NVIDIA B200", 10) == []
    assert chain("NVIDIA A100-SXM4-80GB", 8) == ["a"]
    assert chain("AMD Instinct MI300X", 9) == ["a"]
    assert chain("NVIDIA H100 80GB HBM3", 9, kernel("b", 15, 4)) == ["a"]  # it does not outlast it
    assert chain("NVIDIA H100 80GB HBM3", 9, kernel("b", 15, 5)) == []
    assert chain("NVIDIA H100 80GB HBM3", 9, memcpy(15, 20)) == ["a"]


@pytest.mark.parametrize("value", [None, 5, "text", {"id": 0}, [{"id": "x", "computeMajor": "y"}], [None, 3, {}]])
def test_properties_of_devices_that_are_no_list_of_objects_are_none(value):
    house = views(kernel("a", 11, 9), metadata("deviceProperties", value))
    assert house.rows("select compute_major from staging.stg_device_property") == []
    assert house.rows("select is_suspect from intermediate.int_device_activity") == [(False,)]


def test_on_ascend_devices_a_stream_that_is_not_recorded_is_none():
    assert suspects(detail("MatMul_1", "MatMulV2", 10, 20), detail("Add_1", "Add", 15, 5)) == []
    assert suspects(detail("MatMul_1", "MatMulV2", 10, 20, stream=3), detail("Add_1", "Add", 15, 5, stream=3)) == [
        "MatMul_1"
    ]


def test_suspects_are_flagged_and_never_changed():
    house = views(kernel("a", 10, 30), kernel("b", 20, 5))
    assert house.rows("select start_ns, duration_ns from intermediate.int_device_activity order by 1") == [
        (10, 30),
        (20, 5),
    ]
    assert house.one("select suspect_count, device_activity_count from intermediate.int_run_size") == (1, 2)


# -- classes of activities ---------------------------------------------------------------------------------


def test_the_class_of_an_activity():
    house = views(
        kernel("gemm", 10, 5),
        kernel("ncclDevKernel_AllReduce", 20, 5),
        kernel("oddly named", 30, 5, args={"Collective name": "allreduce"}),
        kernel("__amd_rocclr_copyBuffer", 40, 5),
        kernel("__amd_rocclr_fillBufferAligned.kd", 50, 5),
        kernel("MEMORY_COPY_DEVICE_TO_DEVICE", 60, 5),
        memcpy(70, 5),
        memset(80, 5),
        memcpy(90, 5, name="nccl is a copy here"),
    )
    assert house.pairs("select activity_name, activity_class, kernel_class from intermediate.int_device_activity") == {
        "gemm": ("compute", "Matmul"),
        "ncclDevKernel_AllReduce": ("communication", "Communication"),
        "oddly named": ("communication", "Communication"),
        "__amd_rocclr_copyBuffer": ("copy", "Copy"),
        "__amd_rocclr_fillBufferAligned.kd": ("copy", "Copy"),
        "MEMORY_COPY_DEVICE_TO_DEVICE": ("copy", "Copy"),
        "Memcpy HtoD": ("copy", None),
        "Memset (Device)": ("copy", None),
        "nccl is a copy here": ("copy", None),
    }


def test_a_kernel_without_any_arguments_is_classed_like_one_with_some():
    house = views(kernel("gemm", 10, 5, args=None), kernel("gemm", 20, 5, args={}))
    columns = "activity_class, kernel_class, kernel_unit, class_rule"
    assert house.rows(f"select {columns} from intermediate.int_device_activity") == [
        ("compute", "Matmul", "Cube", "kernel is a matrix product"),
        ("compute", "Matmul", "Cube", "kernel is a matrix product"),
    ]


def test_the_counts_of_a_run():
    house = views(
        v1=[
            op("aten::mm", 0, 10),
            launch("cudaLaunchKernel", 2, 3),
            annotation("a", 20, 1),
            step(1, 0, 30),
            kernel("k", 10, 5, device=0),
            kernel("k", 10, 5, device=1),
            memcpy(10, 5, stream=8, device=1),
            kernel("bad", 10, None, device=2),
            memory(64, at=5),
            memory(-64, at=6),
        ],
        v2=[],
    )
    assert house.rows("select * from intermediate.int_run_size order by run_id") == [
        ("v1", False, True, "activities", 3, 1, 0, 0, 2, 3, 2),
        ("v2", None, True, None, 0, 0, 0, 0, 0, 0, 0),
    ]
