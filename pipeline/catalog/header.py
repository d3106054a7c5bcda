"""A SQL file as a typed object: the header comment is the view's contract, the body is one bare select.

-- One sentence that says what the view is: one row per … .
--
-- Rules that a reader must know.
--
-- @title Title for people
-- @sheet NameOfTheSheet                (if it has a sheet in the workbook)
-- @headline                            (its root rows are summed up in sentences and charts)
-- @position 10                         (its order among the comparisons)
-- @detail                              (it has one row per call, and --no-details leaves it out)
-- @requires device_activity_count      (a count of marts.run: if neither run has any, there are no rows)
-- @alternative modules                 (modules or operators: only one of the two kinds is shown)
-- @tree column                         (rows form a tree: name of the row's node, NULL in a row that is not a node)
-- @path column, column                 (names that are paths: shortened at the front, since their ends differ)
-- @places column, column               (hidden columns: they only place a row in the tree, as its indentation does)
-- @counted measure                     (base_… and comparison_…: how many calls a row sums up)
-- @listed column, column               (columns that a list on screen shows)
-- @grain column, column
-- @order column desc, column
-- @rank diff_column, diff_column       (rows rank by the first of these differences that both runs have figures for)
-- @materialized                        (its rows are computed once per run and kept as Parquet)
-- @walk calls                          (a walk of `pipeline.walk` computes its rows from those of the body, in order)
-- @long why                            (why the body has more than 120 lines)
-- @comparison kernel_comparison        (name of the view that compares these rows of two runs; `declaration.py` has its
--                                       tags; @sheet, @headline, @position, @requires, @alternative and @counted then
--                                       belong to that view)
-- @column name type meaning            (every output column, in order)
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from pipeline import walk
from pipeline.catalog import declaration as declared
from pipeline.catalog.declaration import Declaration, listed
from pipeline.errors import CatalogError

# Semantic column types, with the DuckDB types that each allows. Renderers derive labels, units and formats from them.
COLUMN_TYPES: dict[str, tuple[str, ...]] = {
    "id": ("VARCHAR", "BIGINT", "INTEGER"),
    "name": ("VARCHAR",),
    "text": ("VARCHAR",),
    "category": ("VARCHAR",),
    "flag": ("BOOLEAN",),
    "timestamp_ns": ("BIGINT",),
    "duration_ns": ("BIGINT",),
    "bytes": ("BIGINT",),
    "count": ("BIGINT",),
    "ratio": ("DOUBLE",),
    "share": ("DOUBLE",),
    "depth": ("INTEGER",),
    "bandwidth": ("DOUBLE",),
}
# Kinds of views of which only one is shown.
ALTERNATIVES = ("modules", "operators")
# A built-in view with more lines than this must say why (@long).
LONGEST_BODY = 120
VIEW_LAYERS = ("staging", "intermediate", "marts")
_TAGS = (
    "title", "sheet", "headline", "position", "detail", "requires", "alternative", "tree", "path", "places",
    "counted", "listed",
    "grain", "order", "rank", "materialized", "walk", "long", "column", *declared.TAGS,
)  # fmt: skip
_REFERENCE = re.compile(r"\b(raw|seeds|macros|staging|intermediate|marts)\.([a-z_][a-z0-9_]*)")
_COMMENT_OR_STRING = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)


@dataclass(frozen=True)
class Column:
    """One output column: `type` is a key of COLUMN_TYPES."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True)
class View:
    """A view from a SQL file, or a generated comparison. `references` are the qualified names that the body reads."""

    layer: str
    name: str
    summary: str
    rules: str
    title: str
    sheet: str | None
    headline: bool
    detail: bool
    position: int
    grain: tuple[str, ...]
    order: str
    columns: tuple[Column, ...]
    materialized: bool
    body: str
    references: frozenset[str]
    alternative: str | None = None
    requires: str | None = None
    tree: str | None = None
    rank: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    counted: str | None = None
    listed: tuple[str, ...] = ()
    comparison: Declaration | None = None
    # The walk that turns the body's rows into the view's; the view then has the columns of the walk's schema.
    walk: str | None = None
    # Why the body is longer than LONGEST_BODY.
    long: str | None = None
    # The file's folder below that of the layer; empty for a file directly in the layer's folder.
    domain: str = ""
    # The file of a user's own view; None for a built-in view.
    file: Path | None = None

    @property
    def qualified(self) -> str:
        """Name with its schema: `marts.kernel`."""
        return f"{self.layer}.{self.name}"

    @property
    def is_comparison(self) -> bool:
        """Does it compare two runs (is its first column base_run_id)?"""
        return bool(self.columns) and self.columns[0].name == "base_run_id"


@dataclass(frozen=True)
class Macro:
    """One SQL file of `macros/`. `signature` is the text between CREATE MACRO and AS."""

    name: str
    summary: str
    signature: str
    body: str
    references: frozenset[str]


def parse_view(path: Path, layer: str) -> View:
    """Read the file of a view of that layer. Raises CatalogError if the header breaks the contract."""
    return _view(path, layer, path.read_text(encoding="utf-8"))


# As many files as there are, several times over: a process that opens warehouse after warehouse parses them once.
@functools.lru_cache(maxsize=1024)
def _view(path: Path, layer: str, text: str) -> View:
    comment, body = _split(path, text)
    prose, tags = _tags(path, comment)
    summary, _, rules = prose.partition("\n\n")
    columns = tuple(_column(path, text) for name, text in tags if name == "column")
    single = {name: text for name, text in tags if name != "column"}
    if "one row per" not in summary:
        raise CatalogError(f'{path}: the first paragraph must say "one row per …"')
    for tag in ("title", "grain", "order"):
        if not single.get(tag):
            raise CatalogError(f"{path}: tag @{tag} is missing")
    view = View(
        layer=layer,
        name=path.stem,
        summary=" ".join(summary.split()),
        rules=" ".join(rules.split()),
        title=single["title"],
        sheet=single.get("sheet"),
        headline="headline" in single,
        detail="detail" in single,
        alternative=single.get("alternative"),
        requires=single.get("requires"),
        tree=single.get("tree"),
        position=_position(path, single.get("position", "0")),
        rank=listed(single.get("rank", "")),
        path=listed(single.get("path", "")),
        places=listed(single.get("places", "")),
        counted=single.get("counted"),
        listed=listed(single.get("listed", "")),
        grain=listed(single["grain"]),
        order=single["order"],
        columns=columns,
        materialized="materialized" in single,
        body=body,
        references=references(body),
        comparison=declared.declaration(path, tags),
        long=single.get("long"),
        walk=single.get("walk"),
    )
    if view.alternative not in (None, *ALTERNATIVES):
        raise CatalogError(f"{path}: @alternative must be one of {', '.join(ALTERNATIVES)}")
    if view.walk is not None and (view.walk not in walk.NAMES or not view.materialized):
        raise CatalogError(f"{path}: @walk must be one of {', '.join(walk.NAMES)}, and needs @materialized")
    _check_columns(path, view)
    return view


def parse_macro(path: Path) -> Macro:
    """Read a macro's file: a comment, then `name(arguments) as expression`."""
    comment, body = _split(path, path.read_text(encoding="utf-8"))
    signature, separator, expression = body.partition(" as")
    if not separator or not signature.startswith(path.stem + "("):
        raise CatalogError(f"{path}: the body must be `{path.stem}(…) as …`")
    return Macro(path.stem, " ".join(comment.split()), signature.strip(), expression.strip(), references(body))


def _split(path: Path, text: str) -> tuple[str, str]:
    lines = text.splitlines()
    size = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    comment = "\n".join(line[2:].removeprefix(" ") for line in lines[:size])
    body = "\n".join(lines[size:]).strip().removesuffix(";")
    if not comment.strip() or not body:
        raise CatalogError(f"{path}: a SQL file must have a header comment and one statement")
    if re.match(r"(?i)create\b", body):
        raise CatalogError(f"{path}: the body must be a bare select; the installer adds CREATE")
    return comment, body


def _tags(path: Path, comment: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a header into prose and (tag, text) pairs; the text of a tag may continue up to the next tag."""
    prose, *rest = re.split(r"(?m)^@", comment)
    tags = []
    for part in rest:
        name, _, text = part.partition(" ") if " " in part.split("\n")[0] else (part.split("\n")[0], "", "")
        if name not in _TAGS:
            raise CatalogError(f"{path}: unknown tag @{name}; use one of {', '.join('@' + tag for tag in _TAGS)}")
        tags.append((name, " ".join(text.split())))
    return prose.strip(), tags


def _column(path: Path, text: str) -> Column:
    parts = text.split(" ", 2)
    if len(parts) < 3:
        raise CatalogError(f"{path}: @column needs a name, a type and a meaning, not {text!r}")
    if parts[1] not in COLUMN_TYPES:
        known = ", ".join(COLUMN_TYPES)
        raise CatalogError(f"{path}: column {parts[0]} has unknown type {parts[1]}; use one of {known}")
    return Column(*parts)


def _position(path: Path, text: str) -> int:
    if not text.isdigit():
        raise CatalogError(f"{path}: @position must be a number, not {text!r}")
    return int(text)


def _check_columns(path: Path, view: View) -> None:
    names = [column.name for column in view.columns]
    if len(set(names)) != len(names) or not names:
        raise CatalogError(f"{path}: each output column needs exactly one @column")
    ordered = [re.split(r"\s", part.strip())[0] for part in view.order.split(",")]
    sides = [f"{side}_{view.counted}" for side in ("base", "comparison")] if view.counted and view.is_comparison else []
    tagged = {
        "grain": view.grain,
        "order": ordered,
        "rank": view.rank,
        "tree": [view.tree] if view.tree else [],
        "path": view.path,
        "places": view.places,
        "counted": sides,
        "listed": view.listed,
    }
    for tag, columns in tagged.items():
        for name in columns:
            if name not in names:
                raise CatalogError(f"{path}: @{tag} names {name}, which is not a column")
    for name in view.rank:
        stem = name.removeprefix("diff_")
        if stem == name or not {f"base_{stem}", f"comparison_{stem}"} <= set(names):
            raise CatalogError(f"{path}: @rank names {name}, which is not a difference of two columns")


def references(body: str) -> frozenset[str]:
    """Qualified names that a body reads; names in comments and strings do not count."""
    bare = _COMMENT_OR_STRING.sub(" ", body)
    return frozenset(f"{schema}.{name}" for schema, name in _REFERENCE.findall(bare))
