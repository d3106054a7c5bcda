"""A user's own views: a folder of SQL files, which appear wherever the built-in ones do."""

from __future__ import annotations

import openpyxl
import pytest
from typer.testing import CliRunner

import pipeline
from pipeline.cli import app
from pipeline.errors import LeftOutWarning
from tests.support import traces

LONGEST = """-- Longest kernels: one row per run, step and device activity class.
--
-- @title Longest kernels
-- @grain run_id, step, kernel_class
-- @order run_id, step, longest_ns desc
-- @sheet Longest
-- @position 200
-- @comparison longest_comparison
-- @key kernel_class
-- @measure longest_ns longest, difference, ratio, rank
-- @column run_id id Run
-- @column step id Step
-- @column kernel_class category Class
-- @column longest_ns duration_ns Longest kernel of the class
select run_id, step, kernel_class, max(max_duration_ns) as longest_ns
from marts.kernel
group by run_id, step, kernel_class
"""
# Reads a file that comes later by name.
CLASSES = """-- Classes with a long kernel: one row per run and class.
-- @title Long classes
-- @grain run_id, kernel_class
-- @order run_id, kernel_class
-- @column run_id id Run
-- @column kernel_class category Class
select distinct run_id, kernel_class from marts.longest
"""
BROKEN = {
    "no_title.sql": (LONGEST.replace("-- @title Longest kernels\n", ""), "tag @title is missing"),
    "kernel.sql": (CLASSES, "marts.kernel exists already"),
    "Bad-Name.sql": (CLASSES, "the file is named like the view"),
    "kept.sql": (CLASSES.replace("-- @title", "-- @materialized\n-- @title"), "only built-in views"),
    "lost.sql": (CLASSES.replace("marts.longest", "marts.nowhere"), "reads marts.nowhere, which does not exist"),
    "no_sql.sql": (CLASSES.replace("distinct", "distinkt"), "distinkt"),
    "other_columns.sql": (CLASSES.replace("distinct run_id, kernel_class", "run_id"), "the query returns run_id"),
    "same_sheet.sql": (
        LONGEST.replace("longest_comparison", "other_comparison").replace("@sheet Longest", "@sheet KernelCompare"),
        "both write sheet KernelCompare",
    ),
    "no_measure.sql": (
        LONGEST.replace("longest_comparison", "third_comparison").replace("@measure longest_ns", "@measure x"),
        "@comparison needs x, which is not a column",
    ),
    "bytes.sql": (b"\xff\xfe", "cannot be read"),
}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    for name in ("v1", "v2"):
        pipeline.ingest(traces.write(folder / f"{name}.json"), warehouse=folder / "house")
    return folder / "house"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.mark.parametrize("place", ["warehouse", "elsewhere"])
def test_an_own_comparison_is_shown_wherever_the_built_in_ones_are(house, tmp_path, place):
    if place == "warehouse":
        folder, named = write(house / "views", {"longest.sql": LONGEST, "a_class.sql": CLASSES}), []
    else:
        folder = write(tmp_path / "mine", {"longest.sql": LONGEST, "a_class.sql": CLASSES})
        named = ["--views", folder]
    try:
        done = run("compare", "v1", "v2", "-w", house, "-o", tmp_path / "out", *named)
        assert done.exit_code == 0, done.output
        assert "Longest kernels" in done.stdout
        assert done.stderr == ""
        (book,) = (tmp_path / "out").glob("*.xlsx")
        assert "Longest" in openpyxl.load_workbook(book).sheetnames
        (page,) = (tmp_path / "out").glob("*.html")
        assert "Longest kernels" in page.read_text(encoding="utf-8")
        listed = run("views", "-w", house, *named).stdout
        assert {"marts.longest", "marts.longest_comparison", "marts.a_class"} <= set(listed.split())
        assert (
            "| longest_ns | duration_ns | Longest kernel of the class |"
            in run("describe", "longest", "-w", house, *named).stdout
        )
        assert (
            "from marts.longest as entry" in run("describe", "longest_comparison", "--sql", "-w", house, *named).stdout
        )
        asked = "select count(*) as n from marts.a_class"
        assert run("sql", asked, "-f", "json", "-w", house, *named).stdout.strip() not in ("", '[{"n": 0}]')
    finally:
        for path in folder.glob("*.sql"):
            path.unlink()


def test_files_that_break_the_contract_are_named_with_the_reason_and_the_others_work(house, tmp_path):
    folder = write(tmp_path, {name: text for name, (text, _) in BROKEN.items()} | {"longest.sql": LONGEST})
    with pytest.warns(LeftOutWarning) as told:
        result = pipeline.compare("v1", "v2", warehouse=house, choice=pipeline.Choice(own_views=folder))
    assert "longest_comparison" in result.tables
    reasons = {str(one.message).partition(": ")[0]: str(one.message) for one in told}
    assert set(reasons) == {str(folder / name) for name in BROKEN}
    for name, (_, reason) in BROKEN.items():
        assert reason in reasons[str(folder / name)], name


def test_without_the_folder_nothing_of_it_is_there(house):
    assert "marts.longest" not in run("views", "-w", house).stdout
    assert "longest_comparison" not in pipeline.compare("v1", "v2", warehouse=house).tables


def test_a_folder_that_is_not_there_is_told(house):
    done = run("views", "-w", house, "--views", "nowhere")
    assert done.exit_code == 2
    assert "nowhere: not a folder" in done.stderr
