"""A SQL file as a typed object: the header comment says what the view is, the body is one bare select.

-- One sentence that says what it is: one row per … .
--
-- Rules that a reader must know.
--
-- @title What a person calls it
-- @sheet NameOfTheSheet                (where it has one)
-- @headline                            (where a comparison shows it first, whole)
-- @position 10                         (where it stands among the comparisons)
-- @detail                              (where it has a row per call, and can be left out)
-- @requires device_activity_count       (a count of marts.run: where neither run has any there are no rows)
-- @alternative modules                 (modules or operators: the one kind is shown or the other)
-- @tree column                         (where rows are a tree: names of its nodes, NULL in a row that is none)
-- @path column, column                 (names that are paths, which their ends tell apart)
-- @places column, column               (what only places a row in a tree, as its indentation does)
-- @counted measure                     (how often what a row adds up has happened, base_… and comparison_…)
-- @listed column, column               (what a list on screen shows)
-- @grain column, column
-- @order column desc, column
-- @rank diff_column, diff_column      (where rows rank by a difference: by the first that both runs have figures for)
-- @materialized                        (where the result is kept per run as Parquet)
-- @long why                            (where the body is over 120 lines)
-- @comparison kernel_comparison        (the view made to compare these rows of two runs: `declaration.py` has its tags;
--                                       @sheet, @headline, @position, @requires and @alternative are then its own)
-- @column name type meaning            (every output column, in order)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.catalog import declaration as declared
from pipeline.catalog.declaration import Declaration, listed
from pipeline.errors import CatalogError

# Semantic column types, closed: each allows these DuckDB types. Renderers take labels, units and formats from them.
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
# Views of which one kind or the other is shown.
ALTERNATIVES = ("modules", "operators")
# Lines of a body beyond which a built-in view says why.
LONGEST_BODY = 120
VIEW_LAYERS = ("staging", "intermediate", "marts")
_TAGS = (
    "title", "sheet", "headline", "position", "detail", "requires", "alternative", "tree", "path", "places",
    "counted", "listed",
    "grain", "order", "rank", "materialized", "long", "column", *declared.TAGS,
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
    """One SQL file of a view layer, or what it declares. `references` are qualified names that the body reads."""

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
    # Why the body is longer than LONGEST_BODY.
    long: str | None = None
    # Folder of the file below that of its layer; empty for a file in none.
    domain: str = ""
    # The file of a user's own view; None for a built-in one.
    file: Path | None = None

    @property
    def qualified(self) -> str:
        """Name with its schema: `marts.kernel`."""
        return f"{self.layer}.{self.name}"

    @property
    def is_comparison(self) -> bool:
        """Does it compare two runs (keyed by base_run_id and comparison_run_id)?"""
        return bool(self.columns) and self.columns[0].name == "base_run_id"


@dataclass(frozen=True)
class Macro:
    """One SQL file of `macros/`: `signature` is what follows CREATE MACRO up to AS."""

    name: str
    summary: str
    signature: str
    body: str
    references: frozenset[str]


def parse_view(path: Path, layer: str) -> View:
    """Read the file of a view of that layer. Raises CatalogError where the header breaks the contract."""
    comment, body = _split(path)
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
    )
    if view.alternative not in (None, *ALTERNATIVES):
        raise CatalogError(f"{path}: @alternative must be one of {', '.join(ALTERNATIVES)}")
    _check_columns(path, view)
    return view


def parse_macro(path: Path) -> Macro:
    """Read a macro's file: a comment, then `name(arguments) as expression`."""
    comment, body = _split(path)
    signature, separator, expression = body.partition(" as")
    if not separator or not signature.startswith(path.stem + "("):
        raise CatalogError(f"{path}: the body must be `{path.stem}(…) as …`")
    return Macro(path.stem, " ".join(comment.split()), signature.strip(), expression.strip(), references(body))


def _split(path: Path) -> tuple[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    size = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    comment = "\n".join(line[2:].removeprefix(" ") for line in lines[:size])
    body = "\n".join(lines[size:]).strip().removesuffix(";")
    if not comment.strip() or not body:
        raise CatalogError(f"{path}: a SQL file is a header comment and one statement")
    if re.match(r"(?i)create\b", body):
        raise CatalogError(f"{path}: the body is a bare select; the installer writes CREATE")
    return comment, body


def _tags(path: Path, comment: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a header into prose and (tag, text); a tag goes on over following lines up to the next tag."""
    prose, *rest = re.split(r"(?m)^@", comment)
    tags = []
    for part in rest:
        name, _, text = part.partition(" ") if " " in part.split("\n")[0] else (part.split("\n")[0], "", "")
        if name not in _TAGS:
            raise CatalogError(f"{path}: unknown tag @{name}; known are {', '.join('@' + tag for tag in _TAGS)}")
        tags.append((name, " ".join(text.split())))
    return prose.strip(), tags


def _column(path: Path, text: str) -> Column:
    parts = text.split(" ", 2)
    if len(parts) < 3:
        raise CatalogError(f"{path}: @column needs a name, a type and a meaning: {text!r}")
    if parts[1] not in COLUMN_TYPES:
        raise CatalogError(f"{path}: column {parts[0]} has unknown type {parts[1]}; one of {', '.join(COLUMN_TYPES)}")
    return Column(*parts)


def _position(path: Path, text: str) -> int:
    if not text.isdigit():
        raise CatalogError(f"{path}: @position must be a number, not {text!r}")
    return int(text)


def _check_columns(path: Path, view: View) -> None:
    names = [column.name for column in view.columns]
    if len(set(names)) != len(names) or not names:
        raise CatalogError(f"{path}: columns must be listed once each")
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
                raise CatalogError(f"{path}: @{tag} names {name}, which is no column")
    for name in view.rank:
        stem = name.removeprefix("diff_")
        if stem == name or not {f"base_{stem}", f"comparison_{stem}"} <= set(names):
            raise CatalogError(f"{path}: @rank names {name}, which is no difference of two columns")


def references(body: str) -> frozenset[str]:
    """Qualified names that a body reads, without those in comments and strings."""
    bare = _COMMENT_OR_STRING.sub(" ", body)
    return frozenset(f"{schema}.{name}" for schema, name in _REFERENCE.findall(bare))
