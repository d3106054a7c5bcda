"""Events by category, track and phase: stg_event_category, stg_track, stg_event, stg_event_pair, stg_unread_event."""

from __future__ import annotations

import pytest

from tests.support.events import event, kernel, launch, op
from tests.support.views import catalog, views

DEVICE_KINDS = {"kernel", "memcpy", "memset", "activity"}
HOST_KINDS = {"operator", "annotation", "runtime"}
OTHER_KINDS = {"device annotation", "python function", "synchronization", "enqueue", "dequeue", "other"}
ASCEND_KINDS = {"task", "collective", "plane", "overlap", "cann"}


def named(pid, process, threads=None):
    """Names of a process and its threads, as metadata events have them."""
    rows = [event(None, "process_name", None, None, phase="M", pid=pid, tid=0, args={"name": process})]
    return rows + [
        event(None, "thread_name", None, None, phase="M", pid=pid, tid=tid, args={"name": name})
        for tid, name in (threads or {}).items()
    ]


def plain(name, start, duration, pid, tid, **columns):
    """An event without a category."""
    return event(None, name, start, duration, pid=pid, tid=tid, **columns)


def begin(name, at, tid=1, **columns):
    return event(columns.pop("category", "cpu_op"), name, at, None, phase="B", tid=tid, **columns)


def end(name, at, tid=1, **columns):
    return event(columns.pop("category", None), name, at, None, phase="E", tid=tid, **columns)


def activities(house):
    return house.rows(
        "select activity_name, activity_kind, device, stream, start_ns, duration_ns"
        " from staging.stg_device_activity order by start_ns, event_index"
    )


def unread(house):
    columns = "reason, phase, event_category, process_name, event_count"
    return house.rows(f"select {columns} from staging.stg_unread_event order by all")


# -- categories -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("kernel", "kernel"),
        ("Kernel", "kernel"),
        ("gpu_memcpy", "memcpy"),
        ("Memcpy", "memcpy"),
        ("gpu_memset", "memset"),
        ("MEMSET", "memset"),
        ("mtia_ccp_events", "activity"),
        ("musa_memcpy", "memcpy"),
        ("musa_kernel", "kernel"),
        ("gpu_kernel", "kernel"),
        ("KERNEL_DISPATCH", "kernel"),
        ("memory_copy", "memcpy"),
        ("cpu_op", "operator"),
        ("Operator", "operator"),
        ("user_annotation", "annotation"),
        ("cuda_runtime", "runtime"),
        ("Runtime", "runtime"),
        ("cuda_driver", "runtime"),
        ("hip_runtime", "runtime"),
        ("xpu_runtime", "runtime"),
        ("xpu_driver", "runtime"),
        ("mtia_runtime", "runtime"),
        ("musa_driver", "runtime"),
        ("glow_runtime", "runtime"),
        ("hpu_op", "runtime"),
        ("HIP_API", "runtime"),
        ("cuda_api", "runtime"),
        ("rccl_api", "runtime"),
        ("marker_api", "annotation"),
        ("osrt", "runtime"),
        ("privateuse1_driver", "runtime"),
        ("gpu_user_annotation", "device annotation"),
        ("gcu_user_annotation", "device annotation"),
        ("nvtx-kernel", "device annotation"),
        ("cuda_sync", "synchronization"),
        ("xpu_sync", "synchronization"),
        ("python_function", "python function"),
        ("overhead", "other"),
        ("Trace", "other"),
        ("cuda_profiler_range", "other"),
        ("mtia_insight", "other"),
        ("kernels", None),
        ("cuda", None),
        ("mtia_x", None),
        ("", None),
        (None, None),
    ],
)
def test_what_an_event_is_follows_from_its_category_in_any_case(category, kind):
    house = views(event(category, "a", 10, 5))
    assert house.one("select event_kind from staging.stg_event_category") == (kind,)
    assert house.rows("select event_kind, event_name from staging.stg_event") == ([(kind, "a")] if kind else [])
    assert unread(house) == ([] if kind else [("not_understood", "X", category or "", "" if category else "4242", 1)])


def test_each_rule_of_the_seeds_has_a_known_kind_and_stands_once():
    categories = [dict(zip(("pattern", "kind"), row, strict=False)) for row in catalog().seeds["event_category"].rows]
    assert {rule["kind"] for rule in categories} <= DEVICE_KINDS | HOST_KINDS | OTHER_KINDS
    assert len({rule["pattern"].lower() for rule in categories}) == len(categories)
    tracks = [dict(zip(("process", "thread", "kind"), row, strict=False)) for row in catalog().seeds["track"].rows]
    assert {rule["kind"] for rule in tracks} <= DEVICE_KINDS | HOST_KINDS | OTHER_KINDS | ASCEND_KINDS
    assert len({(rule["process"].lower(), rule["thread"].lower()) for rule in tracks}) == len(tracks)


def test_a_wait_is_no_device_time_and_a_driver_call_launches():
    house = views(
        op("aten::add", 10, 30),
        event("privateuse1_driver", "launchKernel", 12, 6, correlation=7),
        kernel("add", 50, 20, correlation=7),
        event("musa_sync", "muEventSynchronize", 60, 500, pid=0, tid=7),
    )
    assert house.one("select duration_ns from marts.overall where metric = 'E2E Time'") == (20,)
    assert house.rows("select operator_name, device_duration_ns from marts.operator where step is null") == [
        ("aten::add", 20)
    ]
    assert house.rows("select synchronization_name, device, total_duration_ns from marts.synchronization") == [
        ("muEventSynchronize", 0, 500)
    ]


@pytest.mark.parametrize("driver", ["zeCommandListAppendLaunchKernel", "zeCommandListImmediateAppendKernel"])
def test_a_launch_of_the_driver_inside_one_of_the_runtime_is_the_same_launch(driver):
    """Each has a number of its own, and the kernel that of either: the step is complete, with three launches."""
    house = views(
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("xpu_runtime", "urEnqueueKernelLaunch", 10, 9, correlation=1),
        event("xpu_driver", driver, 12, 5, correlation=2),
        event("xpu_runtime", "urEnqueueKernelLaunch", 20, 9, correlation=3),
        event("xpu_driver", driver, 22, 5, correlation=4),
        event("xpu_driver", driver, 32, 5, correlation=5),
        kernel("of the runtime", 50, 5, correlation=1),
        kernel("of the driver", 60, 5, correlation=4),
        kernel("of the driver alone", 70, 5, correlation=5),
    )
    columns = "is_complete, launch_count, launch_without_activity_count"
    assert house.rows(f"select {columns} from marts.step") == [(True, 3, 0)]


def test_events_that_are_not_understood_are_counted_by_category_and_the_run_is_complete():
    house = views(
        op("aten::add", 0, 10),
        event("tpu_work", "a", 10, 5),
        event("tpu_work", "b", 20, 5),
        event("tpu_idle", "c", 20, 5),
        plain("d", 30, 5, pid="Engine", tid=1),
        event("cpu_op", "odd phase", 40, 5, phase="?"),
        event(None, None, None, None, phase=None, pid=None, tid=None),
        event("Counters", "power", 40, None, phase="C"),
        event("Trace", "Record Window End", 90, None, phase="i"),
    )
    problems = "select kind, problem_count, event_index, detail from marts.problem order by event_index"
    assert house.rows(problems) == [
        ("not_understood", 2, 1, "category tpu_work"),
        ("not_understood", 1, 3, "category tpu_idle"),
        ("not_understood", 1, 4, "no category, process Engine"),
        ("not_understood", 1, 5, "category cpu_op, phase ?"),
    ]
    counts = "status, problem_count, not_understood_count, device_activity_count"
    assert house.one(f"select {counts} from marts.run") == ("complete", 0, 5, 0)


# -- begins and ends --------------------------------------------------------------------------------------


def spans(house):
    return house.rows(
        "select event_index, event_name, start_ns, duration_ns from staging.stg_event order by event_index"
    )


def test_nested_begins_and_ends_are_calls_inside_one_another():
    house = views(
        begin("outer", 0),
        begin("inner", 10),
        launch("cudaLaunchKernel", 12, 3, correlation=5),
        end(None, 20),
        begin("second", 30),
        end(None, 40),
        end(None, 50),
        kernel("gemm", 60, 9, correlation=5),
    )
    assert spans(house)[:2] == [(0, "outer", 0, 50), (1, "inner", 10, 10)]
    assert (4, "second", 30, 10) in spans(house)
    operators = "select operator_name, call_count, device_duration_ns from marts.operator where step is null order by 1"
    assert house.rows(operators) == [("outer", 1, 9)]
    assert house.rows("select operator_name, top_operator_name from intermediate.int_device_activity") == [
        ("inner", "outer")
    ]
    assert unread(house) == []


def test_begins_and_ends_out_of_order_crossing_and_unmatched():
    house = views(
        end("a", 30),  # before its begin in the file
        begin("a", 0),
        begin("b", 10),  # crosses a
        end("b", 40),
        begin("a", 50, tid=2),  # another thread
        begin("a", 55, tid=2),  # a recursion
        end("a", 60, tid=2),
        end("a", 65, tid=2),
        end("a", 70, tid=2),  # has no begin
        begin("cut", 80),  # has no end
        begin("zero", 90),
        end("zero", 90),
        begin("no time", None),
    )
    assert spans(house) == [
        (1, "a", 0, 30),
        (2, "b", 10, 30),
        (4, "a", 50, 15),
        (5, "a", 55, 5),
        (10, "zero", 90, 0),
    ]
    assert unread(house) == [("unpaired", "B", "", "4242", 1), ("unpaired", "B", "cpu_op", "", 2)]
    assert house.one("select status, problem_count from marts.run") == ("salvaged", 3)
    pairs = "select event_index from staging.stg_event_pair where not is_paired order by 1"
    assert house.rows(pairs) == [(8,), (9,), (12,)]


def test_a_kernel_of_begin_and_end_has_the_arguments_of_both():
    house = views(
        op("aten::mm", 0, 20),
        launch("cudaLaunchKernel", 5, 3, correlation=9),
        begin("gemm", 100, tid=7, pid=2, category="kernel", args={"grid": 1}, stream=7),
        end("gemm", 160, tid=7, pid=2, args={"block": 2}, correlation=9),
        begin("copy", 200, tid=8, pid=2, category="gpu_memcpy", bytes=64),
        end(None, 230, tid=8, pid=2, category="gpu_memcpy"),
    )
    assert activities(house) == [("gemm", "kernel", 2, 7, 100, 60), ("copy", "memcpy", 2, 8, 200, 30)]
    assert house.one("select args from staging.stg_device_activity where activity_kind = 'kernel'") == (
        '{"grid":1,"block":2}',
    )
    assert house.rows("select operator_name from intermediate.int_device_activity order by start_ns") == [
        ("aten::mm",),
        (None,),
    ]


def test_asynchronous_ranges_are_read_on_devices_and_counted_on_the_host():
    house = views(
        event("kernel", "k", 10, None, phase="b", flow_id="0x1", pid=0, tid=7),
        event("kernel", "k", 15, None, phase="b", flow_id="0x2", pid=0, tid=7),
        event("kernel", "k", 40, None, phase="e", flow_id="0x1", pid=0, tid=8),
        event("kernel", "k", 25, None, phase="e", flow_id="0x2", pid=0, tid=8),
        event("user_annotation", "request", 0, None, phase="b", flow_id="7"),
        event("user_annotation", "request", 90, None, phase="e", flow_id="7"),
    )
    assert activities(house) == [("k", "kernel", 0, 7, 10, 30), ("k", "kernel", 0, 7, 15, 10)]
    assert house.rows("select * from marts.host_call") == []
    assert unread(house) == [("not_understood", "b", "user_annotation", "", 1)]


def test_nested_ends_that_stand_before_their_begins_in_the_file():
    house = views(end("a", 30), begin("a", 0), end("a", 20), begin("a", 10))
    assert spans(house) == [(1, "a", 0, 30), (3, "a", 10, 10)]
    assert unread(house) == []


def test_asynchronous_ranges_without_an_id_are_those_of_one_process():
    house = views(
        [event("kernel", "k", 10 * pid, None, phase="b", flow_id=None, pid=pid, tid=7) for pid in (1, 2)],
        [event("kernel", "k", 70 - 10 * pid, None, phase="e", flow_id=None, pid=pid, tid=7) for pid in (2, 1)],
    )
    assert [row[2:] for row in activities(house)] == [(1, 7, 10, 50), (2, 7, 20, 30)]


# -- tracks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["CUDA", "XPU", "GPU"])
def test_files_of_the_legacy_autograd_profiler(device):
    """CPU and device functions without categories; the thread of the latter is the device, and flows lead to them."""
    cpu, gpu = "CPU functions", f"{device} functions"
    house = views(
        plain("aten::conv", 0, 90, cpu, 1),
        plain("aten::mm", 10, 20, cpu, 1),
        [event(f"cpu_to_{device.lower()}", "aten::mm", 10, None, phase="s", flow_id="0", pid=cpu, tid=1)],
        plain("gemm", 50, 30, gpu, 0),
        [event(f"cpu_to_{device.lower()}", "gemm", 50, None, phase="f", flow_id="0", pid=gpu, tid=0)],
        plain("Memcpy HtoD", 60, 40, gpu, 1),
    )
    assert activities(house) == [("gemm", "kernel", 0, None, 50, 30), ("Memcpy HtoD", "memcpy", 1, None, 60, 40)]
    assert house.rows("select operator_name, top_operator_name from intermediate.int_activity_launch") == [
        ("aten::mm", "aten::conv"),
        (None, "(no launch in the trace)"),
    ]
    split = (
        "select device, metric, duration_ns from marts.overall where metric in ('Computing Time', 'SDMA') order by 1, 2"
    )
    assert sorted(house.rows(split)) == [
        (0, "Computing Time", 30),
        (0, "SDMA", 0),
        (1, "Computing Time", 0),
        (1, "SDMA", 40),
    ]
    assert unread(house) == []


def test_a_trace_of_xla_on_two_devices():
    streams = {1: "Stream #13(Compute)", 2: "Stream #14(MemcpyH2D)", 9: "XLA Ops", 10: "Steps"}
    house = views(
        named(3, "/device:GPU:0", streams),
        named(4, "/device:GPU:1 NVIDIA H100 80GB", streams),
        named(701, "/host:CPU", {5: "python"}),
        plain("cuLaunchKernel", 1, 3, 701, 5, correlation=77),
        plain("PjitFunction(step)", 0, 90, 701, 5),
        plain("fusion", 100, 40, 3, 1, correlation=77),
        plain("fusion", 100, 40, 3, 9),
        plain("step", 100, 300, 3, 10),
        plain("MemcpyH2D", 150, 7, 3, 2),
        plain("fusion", 120, 60, 4, 1),
    )
    assert activities(house) == [
        ("fusion", "kernel", 0, 13, 100, 40),
        ("fusion", "kernel", 1, 13, 120, 60),
        ("MemcpyH2D", "memcpy", 0, 14, 150, 7),
    ]
    assert house.rows("select launch_name from intermediate.int_activity_launch order by event_index") == [
        ("cuLaunchKernel",),
        (None,),
        (None,),
    ]
    assert unread(house) == []


def test_results_of_rocprof():
    house = views(
        event(None, None, None, None, phase=None, pid=None, tid=None),
        named(2, "2 CPU HIP API"),
        named(7, "7 GPU1"),
        named(1, "1 COPY"),
        named(0, "0 Markers and Ranges"),
        plain("region", 0, 90, 0, 5),
        plain("hipLaunchKernel", 10, 5, 2, 5),
        event("DataFlow", "dep", 10, None, phase="s", flow_id="1", pid=2, tid=5),
        plain("k1(int*)", 50, 30, 7, 1, args={"queue-id": "1"}),
        event("DataFlow", "dep", 50, None, phase="t", flow_id="1", pid=7, tid=1),
        plain("CopyHostToDevice", 60, 40, 1, 0),
    )
    assert activities(house) == [("k1(int*)", "kernel", 1, 1, 50, 30), ("CopyHostToDevice", "memcpy", 1, None, 60, 40)]
    calls = "select event_name, event_kind from staging.stg_event where event_kind in ('runtime', 'annotation')"
    assert sorted(house.rows(calls)) == [("hipLaunchKernel", "runtime"), ("region", "annotation")]
    assert house.rows("select launch_name from intermediate.int_activity_launch order by event_index limit 1") == [
        ("hipLaunchKernel",)
    ]


@pytest.mark.parametrize(
    ("devices", "engine", "expected"),
    [
        (["6 GPU0"], "1 COPY", 0),
        (["8 GPU2"], "COPY", 2),
        ([], "1 COPY", None),
        (["6 GPU0", "7 GPU1"], "1 COPY", None),
    ],
)
def test_a_copy_engine_is_of_the_only_device_where_it_names_none(devices, engine, expected):
    house = views(
        named(1, engine),
        [named(pid, device) for pid, device in enumerate(devices, 6)],
        plain("CopyHostToDevice", 3, 5, 1, 0),
        [plain("k", 10 * pid, 5, pid, 0) for pid, _ in enumerate(devices, 6)],
    )
    copies = "select device, activity_kind from staging.stg_device_activity where activity_name = 'CopyHostToDevice'"
    assert house.rows(copies) == [(expected, "memcpy")]


def test_a_category_that_is_not_known_is_read_on_a_stream_of_a_device_and_told_elsewhere():
    house = views(
        event("work", "gemm", 10, 5, pid="GPU 3", tid="Stream 7"),
        event("work", "?", 10, 5, pid="x"),
        event("memory_trace", "cudaMalloc", 0, 90, pid="GPU 3", tid="Memory"),  # of the device, but who knows what
        begin("pm_sampling", 0, tid="Counters", pid="GPU 3", category="sm"),
        end("pm_sampling", 90, tid="Counters", pid="GPU 3"),
        plain("add", 20, 5, "GPU 3", "Queue"),
    )
    assert activities(house) == [("gemm", "kernel", 3, 7, 10, 5), ("add", "kernel", 3, None, 20, 5)]
    assert unread(house) == [
        ("not_understood", "B", "sm", "", 1),
        ("not_understood", "X", "memory_trace", "", 1),
        ("not_understood", "X", "work", "", 1),
    ]


def test_a_conversion_from_nsight_systems_that_has_the_host_on_tracks_of_the_device():
    """Its `cuda` is what ran on the device; ranges of NVTX are there once more, over the kernels in them."""
    house = views(
        event("cuda_api", "cudaLaunchKernel", 5, 3, pid="Device 1", tid="CUDA API 55", correlation=77),
        event("nvtx", "forward", 0, 20, pid="Device 1", tid="NVTX Thread 55"),
        event("nvtx-kernel", "forward", 30, 60, pid="Device 1", tid="NVTX Kernel Thread 55"),
        event("cuda", "gemm", 30, 20, pid="Device 1", tid="CUDA API 7", correlation=77),
        event("cuda", "relu", 80, 10, pid="Device 1", tid="CUDA API 7", correlation=78),
    )
    assert activities(house) == [("gemm", "kernel", 1, 7, 30, 20), ("relu", "kernel", 1, 7, 80, 10)]
    launches = "select launch_name from intermediate.int_activity_launch order by event_index"
    assert house.rows(launches) == [("cudaLaunchKernel",), (None,)]
    calls = "select call_name, call_kind from marts.host_call where step is null order by 1"
    assert house.rows(calls) == [("cudaLaunchKernel", "runtime"), ("forward", "annotation")]
    assert unread(house) == []


def test_a_category_of_host_and_device_alike_is_told_by_the_track_alone():
    house = views(
        event("cuda", "cudaLaunch", 0, 100, pid="[55] Process", tid="Thread 1: Runtime API"),
        event("cuda", "gemm", 50, 20, pid="cuda:1", tid="Stream 2"),
    )
    assert activities(house) == [("gemm", "kernel", 1, 2, 50, 20)]
    assert unread(house) == [("not_understood", "X", "cuda", "", 1)]


@pytest.mark.parametrize(
    ("columns", "device", "stream"),
    [
        ({"pid": "Device 0", "tid": "Stream 7"}, 0, 7),
        ({"pid": "GPU 1", "tid": "stream 20 (compute 2)"}, 1, 20),
        ({"pid": "cuda:3", "tid": "7"}, 3, 7),
        ({"pid": 2, "tid": 5}, 2, 5),
        ({"pid": 77, "tid": 5, "args": {"device": "cuda:1", "stream": "Stream 9"}}, 1, 9),
        ({"pid": 77, "tid": 5, "device": 4, "stream": 6}, 4, 6),
        ({"pid": "/device:GPU:1", "tid": "Stream #13(Compute,MemcpyD2D)"}, 1, 13),
    ],
)
def test_devices_and_streams_from_texts(columns, device, stream):
    assert activities(views(event("kernel", "a", 10, 5, **columns))) == [("a", "kernel", device, stream, 10, 5)]


def test_names_of_tracks_tell_devices_and_streams():
    house = views(
        named(9, "GPU 1", {4: "stream 21 (communication)"}),
        event("kernel", "a", 10, 5, pid=9, tid=4),
        named(0, "python", {7: "stream 7"}),
        event("kernel", "b", 20, 5, pid=0, tid=7),
    )
    assert activities(house) == [("a", "kernel", 1, 21, 10, 5), ("b", "kernel", 0, 7, 20, 5)]
    assert house.rows("select process_name, device, stream from staging.stg_track order by 1") == [
        ("GPU 1", 1, 21),
        ("python", 0, 7),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Memcpy HtoD", "memcpy"),
        ("Memcpy DtoD (Device -> Device)", "memcpy"),
        ("MemcpyD2D", "memcpy"),
        ("hipMemcpyAsync", "memcpy"),
        ("hipMemcpy", "memcpy"),
        ("[CUDA memcpy Device-to-Host]", "memcpy"),
        ("CopyDeviceToHost", "memcpy"),
        ("H2D", "memcpy"),
        ("dma_request", "memcpy"),
        ("Memset (Device)", "memset"),
        ("[CUDA memset]", "memset"),
        ("cudaMemsetAsync", "memset"),
        ("FillBuffer", "memset"),
        ("void copy_kernel<float>", "kernel"),
        ("direct_copy_kernel", "kernel"),
        ("gemm", "kernel"),
        ("dmatmul", "kernel"),
        ("ncclDevKernel_AllReduce", "kernel"),
        ("", "kernel"),
    ],
)
def test_an_activity_of_a_track_is_a_copy_by_its_name(name, kind):
    assert activities(views(plain(name, 10, 5, "GPU 0", "Stream 7"))) == [(name, kind, 0, 7, 10, 5)]
    assert activities(views(kernel(name, 10, 5))) == [(name, "kernel", 0, 7, 10, 5)]


def test_only_device_annotations_on_the_tracks_of_devices_are_no_calls():
    house = views(
        named(1, "/device:TPU:0", {1: "XLA Ops", 2: "XLA Modules"}),
        plain("fusion", 10, 5, 1, 1),
        plain("jit_step", 10, 5, 1, 2),
    )
    assert activities(house) == [("fusion", "kernel", 0, 1, 10, 5)]
    assert house.rows("select * from marts.host_call") == []
