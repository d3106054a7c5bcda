"""The arrows between packages: cli → api → ingestion, comparison, render → extract, warehouse → catalog; none back.

Tests lie in folders named as what they test.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import pipeline
from tests.support.paths import ROOT

PACKAGE = ROOT / "pipeline"
TESTS = ROOT / "tests"
FOUNDATION = {"errors", "schema", "version"}
MAY_IMPORT = {
    "errors": set(),
    "schema": set(),
    "version": set(),
    "alignment": {"alignment"},
    "walk": {"walk"},
    "catalog": FOUNDATION | {"catalog", "alignment", "walk"},
    "extract": FOUNDATION | {"extract"},
    "warehouse": FOUNDATION | {"warehouse", "catalog", "alignment", "walk"},
    "ingestion": FOUNDATION | {"ingestion", "extract", "warehouse", "catalog"},
    "comparison": FOUNDATION | {"comparison", "catalog", "warehouse"},
    "render": FOUNDATION | {"render", "catalog", "comparison"},
    "api": FOUNDATION | {"ingestion", "comparison", "extract", "warehouse", "catalog", "render"},
    "arguments": set(),
    "cli": FOUNDATION | {"arguments", "api", "catalog", "render", "comparison", "__init__"},
    "__init__": {"api", "errors", "version"},
    "__main__": {"cli"},
}


def imported(path: Path) -> set[str]:
    """First names below `pipeline` that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {part for alias in node.names for part in [alias.name] if part.startswith("pipeline")}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pipeline":
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "pipeline" else {node.module}
            )
    names = {name.removeprefix("pipeline").lstrip(".").split(".")[0] for name in found}
    names.discard("")
    return {name if (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists() else "__init__" for name in names}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert imported(path) <= MAY_IMPORT[layer], f"{path.name} of {layer}"


def test_folders_of_tests_mirror_the_packages_and_the_sql():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path(), Path("cases")}
    packages = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    relations = {path.relative_to(ROOT) for path in (ROOT / "sql").rglob("*") if path.is_dir()} | {Path("sql")}
    assert folders - packages - relations == set()


def test_nothing_is_called_utils():
    names = {path.stem for path in PACKAGE.rglob("*.py")}
    assert not names & {"utils", "common", "helpers", "constants", "manager", "misc"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_unpickled_or_evaluated(path):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"eval", "exec", "compile", "__import__"}
    assert "pickle" not in path.read_text()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_fit_on_a_few_screens(path):
    text = path.read_text()
    assert text.count("\n") <= 300
    sizes = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > 50} == {}


@pytest.mark.parametrize("function", [pipeline.compare, pipeline.ingest, pipeline.query, pipeline.table])
def test_a_public_function_takes_at_most_eight_parameters(function):
    assert len(inspect.signature(function).parameters) <= 8
