"""The catalog: what a SQL file must be, order, fingerprints, the lock, the generated pages."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from pipeline import walk
from pipeline.catalog.catalog import Catalog, sql_folder
from pipeline.catalog.dictionary import data_dictionary
from pipeline.catalog.graph import view_graph
from pipeline.catalog.header import COLUMN_TYPES, LONGEST_BODY, parse_macro, parse_view
from pipeline.catalog.install import install
from pipeline.catalog.lock import check_version, locked, public_columns
from pipeline.errors import CatalogError
from tests.support.paths import ROOT

GOOD = """-- Things: one row per thing.
--
-- A rule that goes
-- over two lines.
--
-- @title Things
-- @grain run_id, thing
-- @order thing desc
-- @column run_id id Run
-- @column thing name What it is,
--     on two lines
select run_id, name as thing from raw.event
"""


def view(tmp_path: Path, text: str, name: str = "staging/stg_thing.sql") -> Path:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_header_is_prose_then_tags(tmp_path):
    parsed = parse_view(view(tmp_path, GOOD), "staging")
    assert (parsed.qualified, parsed.title, parsed.grain, parsed.order) == (
        "staging.stg_thing",
        "Things",
        ("run_id", "thing"),
        "thing desc",
    )
    assert parsed.rules == "A rule that goes over two lines."
    assert [(c.name, c.type, c.meaning) for c in parsed.columns] == [
        ("run_id", "id", "Run"),
        ("thing", "name", "What it is, on two lines"),
    ]
    assert parsed.references == {"raw.event"}
    assert not parsed.materialized


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("one row per thing", "all things", "one row per"),
        ("-- @title Things\n", "", "@title is missing"),
        ("@order", "@ordered", "unknown tag @ordered"),
        ("thing name What", "thing duration What", "unknown type duration"),
        ("@column run_id id Run", "@column run_id", "needs a name, a type"),
        ("@grain run_id, thing", "@grain run_id, thin", "names thin"),
        ("@order thing desc", "@order rank", "names rank"),
        ("-- @title Things\n", "-- @title Things\n-- @tree branch\n", "names branch"),
        ("-- @title Things\n", "-- @title Things\n-- @rank branch\n", "names branch"),
        ("-- @title Things\n", "-- @title Things\n-- @rank thing\n", "not a difference of two columns"),
        ("select run_id", "create view x as select run_id", "bare select"),
    ],
)
def test_a_header_that_breaks_the_contract_says_where(tmp_path, old, new, message):
    path = view(tmp_path, GOOD.replace(old, new))
    with pytest.raises(CatalogError, match=message) as error:
        parse_view(path, "staging")
    assert str(path) in str(error.value)


def test_references_in_comments_and_strings_do_not_count(tmp_path):
    text = GOOD.replace("from raw.event", "from raw.event -- marts.x\nwhere name <> 'marts.y'")
    assert parse_view(view(tmp_path, text), "staging").references == {"raw.event"}


def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(sql_folder(), tmp_path / "sql"))


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("staging/stg_thing.sql", "marts.kernel", "may not read that layer"),
        ("intermediate/int_thing.sql", "raw.event", "may not read that layer"),
        ("marts/thing.sql", "staging.nothing", "does not exist"),
    ],
)
def test_layers_point_one_way(tmp_path, name, source, message):
    folder = copied(tmp_path)
    view(folder, GOOD.replace("raw.event", source), name)
    with pytest.raises(CatalogError, match=message):
        Catalog(folder)


def test_two_views_may_not_write_one_sheet(tmp_path):
    folder = copied(tmp_path)
    text = GOOD.replace("-- @title Things", "-- @title Things\n-- @sheet KernelCompare").replace(
        "raw.event", "staging.stg_run"
    )
    view(folder, text, "marts/thing.sql")
    with pytest.raises(CatalogError, match="both write sheet KernelCompare"):
        Catalog(folder)


def test_what_a_view_requires_is_a_count_of_runs(tmp_path):
    folder = copied(tmp_path)
    text = GOOD.replace("-- @title Things", "-- @title Things\n-- @requires profiler_level")
    view(folder, text.replace("raw.event", "staging.stg_run"), "marts/thing.sql")
    with pytest.raises(CatalogError, match=r"@requires profiler_level, which is not a count of marts\.run"):
        Catalog(folder)


def test_a_circle_is_refused(tmp_path):
    folder = copied(tmp_path)
    for one, other in (("int_a", "int_b"), ("int_b", "int_a")):
        view(folder, GOOD.replace("raw.event", f"intermediate.{other}"), f"intermediate/{one}.sql")
    with pytest.raises(CatalogError, match="circle"):
        Catalog(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name as thing", "name as things", "the query returns run_id, things"),
        ("name as thing", "1::bigint as thing", "BIGINT in the query"),
    ],
)
def test_the_installer_holds_headers_against_duckdb(tmp_path, old, new, message):
    folder = copied(tmp_path)
    view(folder, GOOD.replace(old, new))
    with duckdb.connect() as connection, pytest.raises(CatalogError, match=message):
        install(connection, Catalog(folder))


def test_a_fingerprint_follows_what_a_view_reads(tmp_path):
    folder = copied(tmp_path)
    before = Catalog(folder).fingerprints
    seed = folder / "seeds" / "data_type.csv"
    seed.write_text(seed.read_text() + "fp7,1\n")
    after = Catalog(folder).fingerprints
    changed = {name for name in before if before[name] != after[name]}
    assert {"seeds.data_type", "intermediate.int_collective", "marts.communication"} <= changed
    assert "marts.kernel" not in changed
    assert Catalog(folder).fingerprint != Catalog().fingerprint
    assert Catalog().fingerprint == Catalog().fingerprint


def test_a_fingerprint_follows_the_code_of_a_walk(monkeypatch):
    before = Catalog().fingerprints
    monkeypatch.setattr(walk, "source", lambda name: f"another {name}")
    after = Catalog().fingerprints
    changed = {name for name in before if before[name] != after[name]}
    assert {"intermediate.int_call_walk", "intermediate.int_operator_walk", "marts.module"} <= changed
    assert "staging.stg_event" not in changed


def test_a_macro_is_named_after_its_file(tmp_path):
    with pytest.raises(CatalogError, match="the body must be"):
        parse_macro(view(tmp_path, "-- A macro.\nother(x) as x + 1\n", "macros/one.sql"))


def test_the_lock_holds_the_public_columns():
    """A public column that changes needs a new CATALOG_VERSION, then `make docs`."""
    assert locked(ROOT / "sql" / "catalog.lock", Catalog()) == public_columns(Catalog())


LOCKED = "catalog_version 2.1.0\nmarts.run.label name\nmarts.run.rank id\n"


@pytest.mark.parametrize(
    ("columns", "version", "message"),
    [
        (["label name", "rank id"], "2.1.0", None),
        (["label name", "rank id", "host name"], "2.1.0", "run.host is new; raise the minor number"),
        (["label name", "rank id", "host name"], "2.2.0", None),
        (["label name"], "2.2.0", "run.rank is gone or changed; raise the major number"),
        (["label name", "rank count"], "2.1.1", "run.rank is gone or changed; raise the major number"),
        (["label name", "rank count"], "3.0.0", None),
        (["label name", "rank id"], "2.0.9", "2.0.9 is older than 2.1.0"),
    ],
)
def test_public_columns_change_with_the_version_alone(columns, version, message):
    now = f"catalog_version {version}\n" + "".join(f"marts.run.{column}\n" for column in columns)
    if message is None:
        check_version(LOCKED, now)
    else:
        with pytest.raises(CatalogError, match=message):
            check_version(LOCKED, now)


def test_the_data_dictionary_is_written_from_the_headers():
    """Run `make docs` after a change of a header."""
    assert (ROOT / "docs" / "data-dictionary.md").read_text() == data_dictionary(Catalog())


def test_the_graph_of_views_is_written_from_what_they_read():
    """Run `make docs` after a change of what a view reads."""
    page = (ROOT / "docs" / "views.md").read_text()
    assert page == view_graph(Catalog())
    assert "    staging_stg_run --> intermediate_int_run_number\n" in page
    assert "    intermediate_calls --> intermediate_activities\n" in page


def test_every_mart_has_what_a_reader_needs():
    for mart in Catalog().marts:
        assert len(mart.summary) > 20, mart.name
        assert all(column.type in COLUMN_TYPES and column.meaning for column in mart.columns)
        assert not any(name.endswith(("_us", "_ms", "_mb", "_kb")) for name in (c.name for c in mart.columns)), (
            mart.name
        )


def test_comparisons_have_the_keys_and_a_place():
    comparisons = Catalog().comparisons
    assert comparisons[0].headline
    assert len({mart.position for mart in comparisons}) == len(comparisons)
    for mart in comparisons:
        assert {"base_run_id", "comparison_run_id"} <= {column.name for column in mart.columns}
        assert mart.sheet, mart.name


@pytest.mark.parametrize("path", sorted(sql_folder().glob("*/**/*.sql")), ids=lambda path: path.stem)
def test_a_long_body_says_why(path):
    view = Catalog().views.get(f"{path.relative_to(sql_folder()).parts[0]}.{path.stem}")
    if view is not None:  # else a macro
        lines = view.body.count("\n") + 1
        assert (lines > LONGEST_BODY) == (view.long is not None), f"{lines} lines: split it, or say @long and why"


@pytest.mark.parametrize("view", Catalog().views.values(), ids=lambda view: view.name)
def test_unions_are_by_name_where_duckdb_allows_it(view):
    """A recursive CTE must be a union by place."""
    by_place = re.search(r"\bunion all\b(?! by name)", view.body)
    assert by_place is None or view.body.startswith("with recursive")
