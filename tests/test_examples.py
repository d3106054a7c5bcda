"""What examples/ and CONTRIBUTING.md show works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import pipeline
from fixtures.make_fixtures import main as make_fixtures
from tests.support.paths import ROOT

SQL = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUERIES = SQL.findall((ROOT / "examples" / "queries.md").read_text(encoding="utf-8"))
VIEWS = SQL.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    make_fixtures(["demo", str(folder)])
    for name in ("base.pt.trace.json.gz", "new.pt.trace.json"):
        pipeline.ingest(folder / name, warehouse=folder / "house")
    return folder / "house"


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.split("\n")[1].split()[-1])
def test_every_question_has_an_answer(house, query):
    rows = pipeline.query(query, warehouse=house)
    assert rows.num_rows or "marts.problem" in query


def test_the_views_of_the_guide_are_views(house, tmp_path):
    for number, text in enumerate(VIEWS):
        (tmp_path / f"guide_{number}.sql").write_text(text, encoding="utf-8")
    result = pipeline.compare(
        "base", "new", warehouse=house, choice=pipeline.Choice(own_views=tmp_path, only=["stream_comparison"])
    )
    assert len(VIEWS) == 2
    assert result.tables["stream_comparison"].rows.num_rows
    rows = pipeline.query("select * from marts.guide_0", warehouse=house, own_views=tmp_path)
    assert rows.num_rows


def test_the_script_runs_and_names_the_slowest_kernel(tmp_path):
    command = [sys.executable, ROOT / "examples" / "regressions.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, env={"PYTHONPATH": str(ROOT)})
    assert re.search(r"^ *\+\d+\.\d{3} ms  \S", done.stdout, re.MULTILINE)


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "--version"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.startswith(f"tracemill {pipeline.__version__}")
