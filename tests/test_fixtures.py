"""The generator's booked answers against a slow, plain recount of the traces that it writes."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from fixtures.make_fixtures import KEPT_STEPS, Figures, demo_models, main, write_trace

BASE, NEW = demo_models()
MODELS = {
    "base": BASE,
    "new": NEW,
    "checkpoint": replace(BASE, checkpoint=True, steps=(3, 4), seed=5),
    "alone": replace(BASE, world_size=1, python_stack=False, memory=False, epoch=True, steps=(3, 4), rank=2),
    "whole-microseconds": replace(BASE, decimals=0, kernel_scale=0.5, seed=9),
    "many-steps": replace(BASE, steps=tuple(range(6)), layers=BASE.layers[:9], buckets=3, seed=4),
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")


def ns(value):
    whole = Decimal(value) * 1000
    assert whole == int(whole)
    return int(whole)


def parsed(path, nested=True):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    trace = json.loads(data, parse_float=Decimal)
    for event in trace["traceEvents"]:
        event["start"] = ns(event["ts"])
        event["end"] = event["start"] + ns(event.get("dur", 0))
        event.setdefault("cat", "none")
        event.setdefault("args", {})
    trace["calls"] = nest(trace) if nested else []
    return trace


def merged(events):
    spans = []
    for start, end in sorted((e["start"], e["end"]) for e in events):
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([start, end])
    return spans


def length(events):
    return sum(end - start for start, end in merged(events))


def recount_overall(device):
    collectives = [e for e in device if "Collective name" in e["args"]]
    compute = [e for e in device if e["cat"] == "kernel" and "Collective name" not in e["args"]]
    e2e = max(e["end"] for e in device) - min(e["start"] for e in device)
    computing, communication = length(compute), length(collectives)
    both, everything = length(compute + collectives), length(device)
    return {
        "E2E Time": e2e,
        "Computing Time": computing,
        "Communication Time": communication,
        "Overlapped Communication": computing + communication - both,
        "Uncovered Communication Time": both - computing,
        "SDMA": everything - both,
        "Free": e2e - everything,
        "Free Time": e2e - both,
    }


def nest(trace):
    """Gives every host call its callers, outermost first, as plain containment on its thread."""
    calls = [e for e in trace["traceEvents"] if e["cat"] in HOST and "ProfilerStep" not in e["name"]]
    for call in calls:
        start, end, tid = call["start"], call["end"], call["tid"]
        around = [o for o in calls if o["start"] <= start and end <= o["end"] and o["tid"] == tid]
        call["callers"] = sorted((o for o in around if o is not call), key=lambda o: o["start"] - o["end"])
        call["children"] = []
    for call in calls:
        if call["callers"]:
            call["callers"][-1]["children"].append(call)
    return calls


def module_paths(trace):
    """Path of the module around each Python function, by Python id."""
    functions = {e["args"]["Python id"]: e for e in trace["traceEvents"] if e["cat"] == "python_function"}

    def path(ident):
        if ident not in functions:
            return ""
        event = functions[ident]
        kind, _, name = event["name"].partition(": ")
        return path(event["args"]["Python parent id"]) + (f"/{name}" if kind == "nn.Module" else "")

    return [(e, path(ident)) for ident, e in functions.items()]


def module_of(launch, calls, paths):
    """The module of a launch: around it, around its forward operator, or its optimizer's call."""
    stack = [*launch["callers"], launch]

    def around(call):
        holding = [p for e, p in paths if e["start"] <= call["start"] < e["end"] and e["tid"] == call["tid"]]
        return max(holding, key=len, default="")

    if around(launch):
        return around(launch)
    numbers = [c["args"]["Sequence number"] for c in stack if "Sequence number" in c["args"]]
    for call in calls if numbers else ():
        if call["args"].get("Sequence number") == numbers[-1] and call["name"].startswith("aten::"):
            return f"[ BACKWARD ]{around(call)}"
    return next((c["name"] for c in stack if c["name"].startswith("Optimizer.")), "")


def recount(trace, within=None):
    """Every figure again, for the calls that start in a span and what they launched."""
    figures, calls = Figures(), trace["calls"]
    start, end = within or (0, 2**63)
    paths = module_paths(trace)
    launches = {c["args"]["correlation"]: c for c in calls if "correlation" in c["args"]}
    device = []
    for event in trace["traceEvents"]:
        if event["cat"] in DEVICE and start <= launches[event["args"]["correlation"]]["start"] < end:
            device.append(event)
    figures.overall = recount_overall(device)
    for call in calls:
        if not start <= call["start"] < end:
            continue
        duration = call["end"] - call["start"]
        add(figures.host_calls, call["name"], 1, duration, duration - length(call["children"]))
    for event in device:
        duration, launch, about = (
            event["end"] - event["start"],
            launches[event["args"]["correlation"]],
            event["args"],
        )
        operators = [c for c in launch["callers"] if c["cat"] == "cpu_op"]
        add(figures.operators, operators[0]["name"] if operators else "(no operator)", 1, duration)
        assert about.get("External id") == (operators[-1]["args"]["External id"] if operators else None)
        if event["cat"] == "kernel":
            add(figures.kernels, event["name"], 1, duration)
        if "Collective name" in about:
            sizes = (4 * about[f"{way} msg nelems"] for way in ("In", "Out"))
            add(figures.communication, about["Collective name"], 1, duration, *sizes)
        if paths:
            figures.modules[module_of(launch, calls, paths)] += duration
    instants = [e for e in trace["traceEvents"] if e["name"] == "[memory]" and start <= e["start"] < end]
    for event in instants:
        open_at = [
            c
            for c in calls
            if c["cat"] == "cpu_op" and c["tid"] == event["tid"] and c["start"] <= event["start"] < c["end"]
        ]
        if event["args"]["Bytes"] > 0:
            owner = max(open_at, key=lambda c: c["start"])["name"] if open_at else "(no operator)"
            add(figures.memory, owner, 1, event["args"]["Bytes"])
    figures.peak_reserved_bytes = max((e["args"]["Total Reserved"] for e in instants), default=None)
    figures.peak_allocated_bytes = max((e["args"]["Total Allocated"] for e in instants), default=None)
    return figures


def add(table, key, *values):
    table[key] = [a + b for a, b in zip(table.get(key, [0] * len(values)), values, strict=True)]


@pytest.fixture(scope="module", params=MODELS)
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "a.pt.trace.json"
    model = MODELS[request.param]
    return model, write_trace(model, path), parsed(path)


def same(booked, counted):
    for name in vars(booked):
        if name != "categories":
            assert getattr(booked, name) == getattr(counted, name), name


def test_the_run_recounted(written):
    _, answers, trace = written
    same(answers.run, recount(trace))
    categories = Counter(e["cat"].lower() for e in trace["traceEvents"])
    assert answers.run.categories == categories
    assert answers.event_count == len(trace["traceEvents"])


def test_a_step_recounted(written):
    model, answers, trace = written
    number = model.steps[1]
    (step,) = (
        e for e in trace["traceEvents"] if e["name"] == f"ProfilerStep#{number}" and e["cat"] == "user_annotation"
    )
    assert answers.steps[number] == (step["start"], step["end"] - step["start"])
    same(answers.by_step[number], recount(trace, (step["start"], step["end"])))
    assert sorted(answers.steps) == sorted(answers.by_step) == sorted(model.steps)


def test_identities(written):
    model, answers, _ = written
    for figures in (answers.run, *answers.by_step.values()):
        o = figures.overall
        parts = ("Computing Time", "Uncovered Communication Time", "SDMA", "Free")
        assert sum(o[part] for part in parts) == o["E2E Time"]
        assert o["Free Time"] == o["E2E Time"] - o["Computing Time"] - o["Uncovered Communication Time"]
        assert o["Communication Time"] == o["Overlapped Communication"] + o["Uncovered Communication Time"]
        assert all(o[part] > 0 for part in parts if model.world_size > 1 or "Comm" not in part)
        assert (o["Overlapped Communication"] > 0) == (model.world_size > 1)
        device_ns = sum(duration for _, duration in figures.operators.values())
        assert sum(figures.modules.values()) == (device_ns if model.python_stack else 0)
        assert all(0 < own <= total for _, total, own in figures.host_calls.values())


def test_ids_and_arrows_are_whole(written):
    _, _, trace = written
    events = trace["traceEvents"]
    for key in ("Python id", "Ev Idx"):
        ids = [e["args"][key] for e in events if key in e["args"]]
        assert len(set(ids)) == len(ids)
    parents = {e["args"]["Python parent id"] for e in events if "Python parent id" in e["args"]}
    assert parents <= {e["args"]["Python id"] for e in events if "Python id" in e["args"]} | {None}
    for name in ("ac2g", "fwdbwd"):
        ends = [[e["id"] for e in events if e["cat"] == name and e["ph"] == phase] for phase in "sf"]
        assert sorted(ends[0]) == sorted(ends[1]) == sorted(set(ends[0])) != []
    allocated = Counter()
    for event in events:
        if event["name"] == "[memory]":
            allocated[event["args"]["Addr"]] += event["args"]["Bytes"]
    assert not any(allocated.values())


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_seed_gives_the_same_bytes(tmp_path, name):
    first, second, other = (tmp_path / folder / name for folder in "abc")
    for path, model in ((first, BASE), (second, BASE), (other, replace(BASE, seed=99))):
        path.parent.mkdir()
        write_trace(model, path)
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()


def test_targets_repeat_steps_and_keep_the_first_ones(tmp_path):
    answers = write_trace(BASE, tmp_path / "big.json.gz", target_events=20_000)
    trace = parsed(tmp_path / "big.json.gz", nested=False)
    events = trace["traceEvents"]
    assert len(events) == answers.event_count >= 20_000
    steps = [e["name"] for e in events if e["cat"] == "user_annotation" and "ProfilerStep" in e["name"]]
    assert steps == [f"ProfilerStep#{n}" for n in range(BASE.steps[0], BASE.steps[0] + answers.step_count)]
    assert len(answers.by_step) == len(answers.steps) == KEPT_STEPS < answers.step_count
    assert answers.run.overall == recount_overall([e for e in events if e["cat"] in DEVICE])
    write_trace(BASE, tmp_path / "sized.json", target_bytes=3_000_000)
    assert 3_000_000 <= (tmp_path / "sized.json").stat().st_size < 3_400_000


def test_the_demo_tells_its_story(tmp_path):
    main(["demo", str(tmp_path), "--answers"])
    runs = [json.loads((tmp_path / f"{n}.pt.trace.answers.json").read_text())["run"] for n in ("base", "new")]
    assert all(2000 <= sum(run["categories"].values()) <= 5000 for run in runs)
    base, new = runs
    head = "cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4"
    assert new["kernels"][head][1] == pytest.approx(2 * base["kernels"][head][1], rel=0.1)
    assert new["overall"]["Uncovered Communication Time"] > 2 * base["overall"]["Uncovered Communication Time"]
    assert {"aten::gelu", "aten::contiguous"} == set(new["operators"]) - set(base["operators"]) - {
        name for name in new["operators"] if "Backward" in name
    }
    assert "aten::relu" in base["operators"] and "aten::relu" not in new["operators"]
    assert (tmp_path / "base.pt.trace.json.gz").exists() and (tmp_path / "new.pt.trace.json").exists()
