"""Generated traces with known answers: the generator knows every figure that the views must return."""

from __future__ import annotations

from dataclasses import replace

import pytest

import pipeline
from fixtures.make_fixtures import demo_models, write_trace
from tests.support.asking import overall, pairs, rows

BASE, NEW = demo_models()
MODELS = {
    "base": BASE,
    "new": NEW,
    "epoch": replace(BASE, epoch=True, wrapper="DistributedDataParallel", seed=3),
    "bare": replace(BASE, python_stack=False, memory=False, seed=4),
    "checkpoint": replace(BASE, checkpoint=True, seed=6),
    "one-rank": replace(BASE, world_size=1, steps=(5,), seed=5),
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")
    answers = {}
    for name, model in MODELS.items():
        path = folder / f"{name}.json"
        answers[name] = write_trace(model, path)
        (run,) = pipeline.ingest(path, warehouse=folder / "house")
        assert run.problems == ()
    return folder / "house", answers


def scopes(answers):
    return {None: answers.run, **answers.by_step}


@pytest.mark.parametrize("name", MODELS)
def test_every_figure_is_the_one_that_the_generator_knows(warehouse, name):
    house, known = warehouse
    for step, figures in scopes(known[name]).items():
        at = f"run_id = '{name}' and " + ("step is null" if step is None else f"step = {step}")
        split = overall(house, name, step)
        assert {metric: split[metric] for metric in figures.overall} == figures.overall
        kernels = rows(
            house,
            "select kernel_name, sum(call_count)::bigint n, sum(total_duration_ns)::bigint t"
            f" from marts.kernel where {at} group by 1",
        )
        assert {r["kernel_name"]: [r["n"], r["t"]] for r in kernels} == {k: list(v) for k, v in figures.kernels.items()}
        calls = rows(house, f"select * from marts.host_call where {at}")
        assert {r["call_name"]: [r["call_count"], r["total_duration_ns"], r["self_duration_ns"]] for r in calls} == {
            k: list(v) for k, v in figures.host_calls.items()
        }
        operators = rows(house, f"select * from marts.operator where {at} and device_activity_count > 0")
        assert {r["operator_name"]: [r["device_activity_count"], r["device_duration_ns"]] for r in operators} == {
            k: list(v) for k, v in figures.operators.items()
        }
        collectives = rows(house, f"select * from marts.communication where {at}")
        assert {
            r["collective_name"]: [r["call_count"], r["total_duration_ns"], r["input_bytes"], r["output_bytes"]]
            for r in collectives
        } == {k: list(v) for k, v in figures.communication.items()}
        memory = rows(house, f"select * from marts.memory where {at}")
        assert {r["operator_name"]: [r["allocation_count"], r["allocated_bytes"]] for r in memory} == {
            k: list(v) for k, v in figures.memory.items()
        }
        modules = f"select module_name, device_self_duration_ns from marts.module where {at}"
        found = pairs(house, f"{modules} and device_self_duration_ns > 0")
        assert sum(found.values()) == sum(total for _, total in figures.operators.values())
        if MODELS[name].python_stack:
            assert found == figures.modules
        else:  # the optimizer is a call of its own
            assert all(module == "" or module.startswith("Optimizer.") for module in found)
        peak = rows(house, f"select peak_reserved_bytes r, peak_allocated_bytes a from marts.memory_peak where {at}")
        assert peak == (
            [{"r": figures.peak_reserved_bytes, "a": figures.peak_allocated_bytes}]
            if figures.peak_reserved_bytes
            else []
        )


@pytest.mark.parametrize("name", MODELS)
def test_steps_and_counts(warehouse, name):
    house, known = warehouse
    steps = rows(house, f"select step, start_ns, duration_ns, is_complete from marts.step where run_id = '{name}'")
    assert {r["step"]: (r["start_ns"], r["duration_ns"]) for r in steps} == {
        k: tuple(v) for k, v in known[name].steps.items()
    }
    assert all(r["is_complete"] for r in steps)
    counts = pairs(
        house, f"select lower(coalesce(category, 'none')), count(*) from raw.event where run_id = '{name}' group by 1"
    )
    assert counts == known[name].run.categories


def test_the_slower_version_is_told_by_the_right_rows(warehouse):
    house, known = warehouse
    result = pipeline.compare("base", "new", warehouse=house, choice=pipeline.Choice(modules=False))
    headline = {row["metric"]: row for row in result.tables["headline_comparison"].rows.to_pylist()}
    e2e = known["new"].run.overall["E2E Time"] - known["base"].run.overall["E2E Time"]
    assert headline["E2E Time"]["diff_duration_ns"] == e2e
    parts = [row["diff_duration_ns"] for metric, row in headline.items() if metric != "E2E Time"]
    assert sum(parts) == e2e
    assert (
        max(headline, key=lambda m: headline[m]["diff_duration_ns"] if m != "E2E Time" else 0)
        == "Uncovered Communication Time"
    )
    operators = {row["operator_name"]: row for row in result.tables["operator_comparison"].rows.to_pylist()}
    assert operators["aten::gelu"]["base_device_duration_ns"] is None  # ReLU became GELU
    assert operators["aten::relu"]["comparison_device_duration_ns"] is None


def test_the_modules_of_a_wrapped_model_pair_with_those_of_the_bare_one(warehouse):
    house, _ = warehouse
    result = pipeline.compare("base", "epoch", warehouse=house)
    found = result.tables["module_comparison"].rows.to_pylist()
    names = [(row["base_module_name"], row["comparison_module_name"]) for row in found]
    alone = {pair for pair in names if None in pair}
    wrapper = "DistributedDataParallel_0"
    assert alone == {(None, f"/{wrapper}"), (None, f"[ BACKWARD ]/{wrapper}")}
    assert all(theirs.replace(f"/{wrapper}", "") == ours for ours, theirs in set(names) - alone)


def test_a_checkpointed_block_is_a_module_again_where_backward_runs_it(warehouse):
    house, known = warehouse
    layer = "TransformerBlock_0/LayerNorm_0"
    named = [f"/Net_0/{layer}", f"/{layer}", f"[ BACKWARD ]/{layer}"]
    assert set(named) <= set(known["checkpoint"].run.modules)
    assert f"[ BACKWARD ]/Net_0/{layer}" not in known["checkpoint"].run.modules
    calls = "select module_name, call_count from marts.module where run_id = 'checkpoint' and step is null"
    assert [pairs(house, calls)[name] for name in named] == [3, 3, None]
