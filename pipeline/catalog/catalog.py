"""The SQL files as one ordered, versioned whole."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pipeline.catalog.comparison import with_comparisons
from pipeline.catalog.header import VIEW_LAYERS, Macro, View, parse_macro, parse_view
from pipeline.catalog.own import with_own_views
from pipeline.errors import CatalogError, UsageError
from pipeline.schema import RAW_SCHEMA_VERSION, RAW_TABLES

# Version of the marts' public columns (semver). A removed or changed column is a new major version, an added one
# a new minor; `sql/catalog.lock` holds the columns that the version stands for (`lock.py`).
CATALOG_VERSION = "2.0.0"

# What a layer may read: itself where listed, never a later one.
READABLE = {
    "macros": {"macros"},
    "staging": {"raw", "staging", "seeds", "macros"},
    "intermediate": {"staging", "intermediate", "seeds", "macros"},
    "marts": {"staging", "intermediate", "marts", "seeds", "macros"},
}

# Columns of seeds whose values the SQL looks for: another value would decide about a row, and nothing would come of it.
_CLOSED = frozenset({"kind", "subject"})
# Seeds that are part of the views: rows of a user would count twice what they describe.
_COMPLETE = frozenset({"metric"})


@dataclass(frozen=True)
class Seed:
    """A CSV of `seeds/`: rows are text, with their place in `rule_order`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Catalog:
    """All views, macros and seeds below a folder.

    `extensions` may hold CSVs whose rows come before a seed's own. `own` are folders of a user's own views: `refused`
    says why files of them are left out.
    """

    def __init__(self, folder: Path | None = None, extensions: Path | None = None, own: Sequence[Path] = ()) -> None:
        self.folder = folder or sql_folder()
        self.macros = {p.stem: parse_macro(p) for p in sorted(self.folder.glob("macros/*.sql"))}
        self.seeds = {p.stem: _read_seed(p, extensions) for p in sorted(self.folder.glob("seeds/*.csv"))}
        views = [view for layer in VIEW_LAYERS for view in self._parsed(layer)]
        built_in = self._including({}, *views)
        self.views, self.refused = with_own_views(built_in, own, self._including)

    @property
    def marts(self) -> list[View]:
        """The public views, by name."""
        return sorted((view for view in self.views.values() if view.layer == "marts"), key=lambda view: view.name)

    @property
    def comparisons(self) -> list[View]:
        """Marts that compare two runs and have a sheet, in the order in which they are shown."""
        return sorted(
            (view for view in self.marts if view.is_comparison and view.sheet), key=lambda view: view.position
        )

    @property
    def materialized(self) -> list[View]:
        """Views kept per run as Parquet, in the order in which they can be computed."""
        return [view for view in self.views.values() if view.materialized]

    def read_by(self, views: Iterable[View]) -> list[View]:
        """The given views and all views that they read, directly or not, each after those it reads."""
        wanted = {view.qualified for view in views}
        for view in reversed(self.views.values()):
            if view.qualified in wanted:
                wanted |= view.references
        return [view for name, view in self.views.items() if name in wanted]

    def mart(self, name: str) -> View:
        """Look a public view up by name. Raises UsageError that lists what there is."""
        view = self.views.get(f"marts.{name.removeprefix('marts.')}")
        if view is None:
            raise UsageError(f"no view {name!r}; there are: {', '.join(view.name for view in self.marts)}")
        return view

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """Per view and macro: a hash of its text and of everything that it reads."""
        found = {f"raw.{table}": str(schema) for table, schema in RAW_TABLES.items()}
        found |= {f"seeds.{name}": repr(seed) for name, seed in self.seeds.items()}
        for macro in self._ordered_macros():
            found[f"macros.{macro.name}"] = _digest(macro.signature, macro.body, *_read(found, macro.references))
        for name, view in self.views.items():
            found[name] = _digest(view.body, *_read(found, view.references))
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the whole catalog, for reports and for telling a stale warehouse."""
        headers = (repr((view.summary, view.rules, view.columns, view.order)) for view in self.views.values())
        return _digest(CATALOG_VERSION, str(RAW_SCHEMA_VERSION), *headers, *sorted(self.fingerprints.values()))

    def macros_in_order(self) -> list[Macro]:
        """Macros such that each comes after those it uses."""
        return self._ordered_macros()

    def _ordered_macros(self) -> list[Macro]:
        graph = {
            name: {r.removeprefix("macros.") for r in macro.references} - {name} for name, macro in self.macros.items()
        }
        return [self.macros[name] for name in _sorted(graph) if name in self.macros]

    def _parsed(self, layer: str) -> Iterator[View]:
        """Views of a layer. Folders below that of the layer are domains, which put files in order and name nothing."""
        folder = self.folder / layer
        for path in sorted(folder.rglob("*.sql")):
            yield replace(parse_view(path, layer), domain=path.parent.relative_to(folder).as_posix().removeprefix("."))

    def _including(self, others: Mapping[str, View], *views: View) -> dict[str, View]:
        """The others with these views and the comparisons that they declare, each after those it reads.

        Raises CatalogError where they break the contract.
        """
        added = with_comparisons(views, others, self.folder / "templates")
        for view in added:
            if view.qualified in others:
                raise CatalogError(f"{view.qualified} is there already; choose another name")
        found = {view.qualified: view for view in self._ordered([*others.values(), *added])}
        lint(found, self.seeds, self.macros)
        return found

    def _ordered(self, views: Iterable[View]) -> list[View]:
        known = {view.qualified: view for view in views}
        graph = {name: {r for r in view.references if r in known} for name, view in known.items()}
        return [known[name] for name in _sorted(graph)]


def sql_folder() -> Path:
    """The folder of the SQL files: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "sql"
    return installed if installed.is_dir() else package.parent / "sql"


def lint(views: Mapping[str, View], seeds: Iterable[str], macros: Iterable[str]) -> None:
    """Check what one file cannot know of the others. Raises CatalogError at the first breach."""
    known = {f"raw.{table}" for table in RAW_TABLES} | {f"seeds.{name}" for name in seeds}
    known |= {f"macros.{name}" for name in macros} | set(views)
    run = views.get("marts.run")
    counts = {column.name for column in run.columns if column.type == "count"} if run else set()
    sheets: dict[str, str] = {}
    for view in views.values():
        for reference in sorted(view.references):
            if reference not in known:
                raise CatalogError(f"{view.qualified} reads {reference}, which does not exist")
            if reference.split(".")[0] not in READABLE[view.layer]:
                raise CatalogError(f"{view.qualified} reads {reference}: {view.layer} may not read that layer")
        if view.materialized and view.columns[0].name != "run_id":
            raise CatalogError(f"{view.qualified} is kept per run, so its first column must be run_id")
        if view.requires and view.requires not in counts:
            raise CatalogError(f"{view.qualified}: @requires {view.requires}, which is no count of marts.run")
        if view.sheet and sheets.setdefault(view.sheet, view.qualified) != view.qualified:
            raise CatalogError(f"{view.qualified} and {sheets[view.sheet]} both write sheet {view.sheet}")


def _read_seed(path: Path, extensions: Path | None) -> Seed:
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    extension = extensions / path.name if extensions else None
    if extension and extension.is_file():
        if path.stem in _COMPLETE:
            raise CatalogError(f"{extension}: {path.stem} takes no rows of your own; remove the file")
        with extension.open(encoding="utf-8-sig", newline="") as file:
            header, *own = [row for row in csv.reader(file) if row]
        if header != columns or any(len(row) != len(columns) for row in own):
            raise CatalogError(f"{extension}: columns must be {','.join(columns)}")
        for place, name in enumerate(columns):
            known = {row[place] for row in rows}
            if name in _CLOSED and (unknown := {row[place] for row in own} - known):
                wrong, right = ", ".join(sorted(unknown)), ", ".join(sorted(known))
                raise CatalogError(f"{extension}: no such {name}: {wrong}; there are: {right}")
        rows = own + rows
    return Seed(path.stem, tuple(columns), tuple(tuple(row) for row in rows))


def _read(found: dict[str, str], references: frozenset[str]) -> list[str]:
    return [found[name] for name in sorted(references) if name in found]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _sorted(graph: dict[str, set[str]]) -> list[str]:
    """Topological order, by name among equals, so that it never depends on a hash seed."""
    sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise CatalogError(f"SQL files read each other in a circle: {' → '.join(error.args[1])}") from error
