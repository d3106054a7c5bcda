"""Renderers know types of columns and tags of headers, never a column or a view by its name."""

from __future__ import annotations

import ast
import re

import pytest

from pipeline.catalog.catalog import Catalog
from pipeline.catalog.header import COLUMN_TYPES
from tests.support.paths import ROOT

RENDER = ROOT / "pipeline" / "render"
# Words of the renderers' own that are names of columns, too: a key of a chart, the scope on the sheet About.
OWN = {"label", "scope"}


def names():
    marts = Catalog().marts
    columns = {column.name for view in marts for column in view.columns}
    return (columns | {view.name for view in marts}) - set(COLUMN_TYPES) - OWN


def literals(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    return set(re.findall(r"""["'.]([a-z_]+)\b""", text))


@pytest.mark.parametrize("path", sorted(RENDER.rglob("*.py")), ids=lambda path: path.name)
def test_no_renderer_names_a_column_or_a_view(path):
    assert not literals(path) & names()


def test_no_template_names_a_column_of_its_own():
    """Words that a column and the page share are the page's: what is long and has a unit can only be a column."""
    columns = {name for name in names() if name.count("_") >= 2}
    for path in sorted((RENDER / "page" / "templates").iterdir()):
        assert not literals(path) & columns, path.name
