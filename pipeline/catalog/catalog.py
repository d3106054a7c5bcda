"""All SQL files as one ordered and versioned catalog."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pipeline import walk
from pipeline.catalog.comparison import with_comparisons
from pipeline.catalog.header import VIEW_LAYERS, Macro, View, parse_macro, parse_view
from pipeline.catalog.own import with_own_views
from pipeline.errors import CatalogError, UsageError
from pipeline.schema import RAW_SCHEMA_VERSION, RAW_TABLES

# Version of the marts' public columns (semver). A removed or changed column needs a new major version, an added one a
# new minor. `sql/catalog.lock` lists the columns of this version (`lock.py`).
CATALOG_VERSION = "2.0.0"

# The schemas that each layer may read; never a later layer.
READABLE = {
    "macros": {"macros"},
    "staging": {"raw", "staging", "seeds", "macros"},
    "intermediate": {"staging", "intermediate", "seeds", "macros"},
    "marts": {"staging", "intermediate", "marts", "seeds", "macros"},
}

# Seed columns whose values the SQL knows: a rule with any other value would match and then have no effect.
_CLOSED = frozenset({"kind", "subject"})
# Seeds that users cannot extend: the views rely on their exact rows, and further ones would count figures twice.
_COMPLETE = frozenset({"metric"})


@dataclass(frozen=True)
class Seed:
    """A CSV file of `seeds/`. All values are text; the view adds each row's place as `rule_order`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Catalog:
    """All views, macros and seeds below a folder.

    `extensions` is a folder of CSV files whose rows come before those of the seed with the same name. `own` are folders
    of a user's own views; `refused` says, by path, why some of these files were left out.
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
        """The public views, in order of their names."""
        return sorted((view for view in self.views.values() if view.layer == "marts"), key=lambda view: view.name)

    @property
    def comparisons(self) -> list[View]:
        """The marts that compare two runs and have a sheet, in the order of the screen and the workbook."""
        return sorted(
            (view for view in self.marts if view.is_comparison and view.sheet), key=lambda view: view.position
        )

    @property
    def materialized(self) -> list[View]:
        """The views that are kept per run as Parquet, in an order in which they can be computed."""
        return [view for view in self.views.values() if view.materialized]

    def read_by(self, views: Iterable[View]) -> list[View]:
        """The given views and all views that they read, directly or indirectly; each comes after those it reads."""
        wanted = {view.qualified for view in views}
        for view in reversed(self.views.values()):
            if view.qualified in wanted:
                wanted |= view.references
        return [view for name, view in self.views.items() if name in wanted]

    def results(self, views: Iterable[View]) -> list[View]:
        """The results kept per run that these views are or read, directly or indirectly, in the order of computing."""
        return [view for view in self.read_by(views) if view.materialized]

    def mart(self, name: str) -> View:
        """The public view of that name. Raises UsageError, which lists all names, if there is none."""
        view = self.views.get(f"marts.{name.removeprefix('marts.')}")
        if view is None:
            raise UsageError(f"no view {name!r}; there are: {', '.join(view.name for view in self.marts)}")
        return view

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """For each view and macro, a hash of its text and of everything that it reads."""
        found = {f"raw.{table}": str(schema) for table, schema in RAW_TABLES.items()}
        found |= {f"seeds.{name}": repr(seed) for name, seed in self.seeds.items()}
        for macro in self._ordered_macros():
            found[f"macros.{macro.name}"] = _digest(macro.signature, macro.body, *_read(found, macro.references))
        for name, view in self.views.items():
            code = [walk.source(view.walk)] if view.walk else []
            found[name] = _digest(view.body, *code, *_read(found, view.references))
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the whole catalog, which reports print and by which a stale database is detected."""
        headers = (repr((view.summary, view.rules, view.columns, view.order)) for view in self.views.values())
        return _digest(CATALOG_VERSION, str(RAW_SCHEMA_VERSION), *headers, *sorted(self.fingerprints.values()))

    def macros_in_order(self) -> list[Macro]:
        """All macros; each comes after those it uses."""
        return self._ordered_macros()

    def _ordered_macros(self) -> list[Macro]:
        graph = {
            name: {r.removeprefix("macros.") for r in macro.references} - {name} for name, macro in self.macros.items()
        }
        return [self.macros[name] for name in _sorted(graph) if name in self.macros]

    def _parsed(self, layer: str) -> Iterator[View]:
        """Views of a layer. The folders below the layer's are domains: they group files and are no part of a name."""
        folder = self.folder / layer
        for path in sorted(folder.rglob("*.sql")):
            yield replace(parse_view(path, layer), domain=path.parent.relative_to(folder).as_posix().removeprefix("."))

    def _including(self, others: Mapping[str, View], *views: View) -> dict[str, View]:
        """The others, these views, and the comparisons that these declare; each comes after those it reads.

        Raises CatalogError if one of them breaks the contract.
        """
        added = with_comparisons(views, others, self.folder / "templates")
        for view in added:
            if view.qualified in others:
                raise CatalogError(f"{view.qualified} exists already; choose another name")
        found = {view.qualified: view for view in self._ordered([*others.values(), *added])}
        lint(found, self.seeds, self.macros)
        return found

    def _ordered(self, views: Iterable[View]) -> list[View]:
        known = {view.qualified: view for view in views}
        graph = {name: {r for r in view.references if r in known} for name, view in known.items()}
        return [known[name] for name in _sorted(graph)]


def sql_folder() -> Path:
    """The folder of the SQL files: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "sql"
    return installed if installed.is_dir() else package.parent / "sql"


def lint(views: Mapping[str, View], seeds: Iterable[str], macros: Iterable[str]) -> None:
    """Check what depends on more than one file. Raises CatalogError for the first violation."""
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
            raise CatalogError(f"{view.qualified}: @requires {view.requires}, which is not a count of marts.run")
        if view.sheet and sheets.setdefault(view.sheet, view.qualified) != view.qualified:
            raise CatalogError(f"{view.qualified} and {sheets[view.sheet]} both write sheet {view.sheet}")


def _read_seed(path: Path, extensions: Path | None) -> Seed:
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    extension = extensions / path.name if extensions else None
    if extension and extension.is_file():
        if path.stem in _COMPLETE:
            raise CatalogError(f"{extension}: the seed {path.stem} cannot be extended; remove the file")
        with extension.open(encoding="utf-8-sig", newline="") as file:
            header, *own = [row for row in csv.reader(file) if row]
        if header != columns or any(len(row) != len(columns) for row in own):
            raise CatalogError(f"{extension}: columns must be {','.join(columns)}")
        for place, name in enumerate(columns):
            known = {row[place] for row in rows}
            if name in _CLOSED and (unknown := {row[place] for row in own} - known):
                wrong, right = ", ".join(sorted(unknown)), ", ".join(sorted(known))
                raise CatalogError(f"{extension}: unknown {name}: {wrong}; use one of: {right}")
        rows = own + rows
    return Seed(path.stem, tuple(columns), tuple(tuple(row) for row in rows))


def _read(found: dict[str, str], references: frozenset[str]) -> list[str]:
    return [found[name] for name in sorted(references) if name in found]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _sorted(graph: dict[str, set[str]]) -> list[str]:
    """Topological order. Ties are broken by name, so that the order never depends on Python's hash seed."""
    sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise CatalogError(f"SQL files read each other in a circle: {' → '.join(error.args[1])}") from error
