"""Real traces, where they are here: independent figures to the nanosecond, every pair without an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pipeline
from tests.render.workbook.test_xlsx import assert_same_figures
from tests.support.asking import rows
from tests.support.paths import SHARED, TRACES, needs_shared, needs_time

pytestmark = needs_shared


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    pipeline.ingest(TRACES, warehouse=folder)
    return folder


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_figures_agree_with_independent_ones(trace, tmp_path):
    """Each trace in a warehouse of its own, so that the workers share them out."""
    name = trace.name.removesuffix(".json.gz")
    check = [sys.executable, str(SHARED / "oracle" / "check.py"), "--command", f"{sys.executable} -m pipeline.cli"]
    command = [*check, "--modules", "--only", name, "--keep", str(tmp_path / "house")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 failed" in done.stdout
    assert not done.stdout.startswith("0 passed")


def test_the_parts_sum_to_the_whole(house):
    broken = rows(
        house,
        """
        with whole as (
            select run_id, step, device, metric, duration_ns from marts.overall
        )
        select overall.run_id, overall.step, whole.metric
        from marts.overall as overall
        join whole
            on overall.run_id = whole.run_id
            and overall.step is not distinct from whole.step
            and overall.device = whole.device
            and whole.metric = case when overall.is_part then 'E2E Time' end
        group by all
        having sum(overall.duration_ns) <> max(whole.duration_ns)
        union all
        select overall.run_id, overall.step, whole.metric
        from marts.overall as overall
        join whole
            on overall.run_id = whole.run_id
            and overall.step is not distinct from whole.step
            and overall.device = whole.device
            and whole.metric = overall.parent_metric
        where whole.metric in ('Computing Time', 'E2E Time', 'Free Time')
        group by all
        having sum(overall.duration_ns) <> max(whole.duration_ns)
        """,
    )
    assert broken == []


def test_sums_over_operators_equal_the_device_total(house):
    wrong = rows(
        house,
        """
        with total as (
            select run_id, step, sum(duration_ns)::bigint as total_ns
            from intermediate.int_device_activity
            group by grouping sets ((run_id), (run_id, step))
            having grouping(step) = 1 or step is not null
        ),
        operator as (
            select run_id, step, sum(device_duration_ns)::bigint as total_ns from marts.operator group by all
        )
        select * from total
        join operator on total.run_id = operator.run_id and total.step is not distinct from operator.step
        where total.total_ns <> operator.total_ns
        """,
    )
    assert wrong == []


@pytest.mark.parametrize("base", TRACES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_trace_compares_with_itself_and_others_and_its_sheets_reopen(house, base, tmp_path):
    runs = [row["run_id"] for row in rows(house, "select run_id from marts.run order by run_id")]
    assert len(runs) == len(TRACES)
    base_run = base.name.removesuffix(".json.gz")
    place = runs.index(base_run)
    # Itself, one further on, and the neighbour below: every trace is met from both sides.
    for comparison in (runs[(place + further) % len(runs)] for further in (0, 5)):
        result = pipeline.compare(
            base_run, comparison, warehouse=house, choice=pipeline.Choice(details=comparison == base_run)
        )
        assert all(table.rows is not None for table in result.tables.values())
        if comparison == base_run:
            differences = (
                row[name]
                for t in result.tables.values()
                for row in t.rows.to_pylist()
                for name in row
                if name.startswith("diff_")
            )
            assert not any(differences)
    neighbour = runs[(place + 1) % len(runs)]
    result = pipeline.compare(base_run, neighbour, warehouse=house, output=tmp_path)
    assert_same_figures(result, next(path for path in result.files if path.suffix == ".xlsx"))


@needs_time
def test_self_times_of_modules_sum_to_the_device_total(house):
    found = rows(
        house,
        """
        with total as (
            select run_id, step, sum(duration_ns)::bigint as total_ns
            from intermediate.int_device_activity
            where quarantine_reason is null
            group by grouping sets ((run_id), (run_id, step))
            having grouping(step) = 1 or step is not null
        ),
        module as (
            select run_id, step, sum(device_self_duration_ns)::bigint as total_ns from marts.module group by all
        ),
        operator as (
            select run_id, step, sum(device_self_duration_ns)::bigint as total_ns
            from marts.module_operator
            group by all
        )
        select
            total.run_id,
            total.total_ns - module.total_ns as of_modules,
            total.total_ns - operator.total_ns as of_operators
        from total
        join module on total.run_id = module.run_id and total.step is not distinct from module.step
        join operator on total.run_id = operator.run_id and total.step is not distinct from operator.step
        """,
    )
    modules = {row["run_id"] for row in found}
    assert len(modules) == 11  # six with modules, five with the optimizer only
    assert all(row["of_modules"] == row["of_operators"] == 0 for row in found)


MODELS = [name for name in ("bert-small", "qwen1.5-0.5b") if any(path.name.startswith(name) for path in TRACES)]


@pytest.mark.parametrize("model", MODELS)
def test_all_modules_of_one_model_pair_on_two_vendors(house, model):
    result = pipeline.compare(f"{model}.h100", f"{model}.mi300x", warehouse=house)
    modules = result.tables["module_comparison"].rows.to_pylist()
    assert len(modules) > 100
    assert [row for row in modules if None in (row["base_module_name"], row["comparison_module_name"])] == []
    totals = [row for row in modules if row["operator_name"] == "[ TOTAL ]"]
    assert all(row["base_module_name"] == row["comparison_module_name"] for row in totals)
