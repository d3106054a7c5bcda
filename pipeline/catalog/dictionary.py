"""The data dictionary: every public view with its columns, generated from the headers of the SQL files."""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.catalog.graph import view_graph
from pipeline.catalog.header import View
from pipeline.catalog.lock import check_version, public_columns
from pipeline.errors import CatalogError


def describe_view(view: View) -> str:
    """One view as Markdown."""
    lines = [f"## marts.{view.name}", "", view.summary]
    lines += ["", view.rules] if view.rules else []
    lines += [
        "",
        f"Grain: {', '.join(view.grain)}. Order: {view.order}." + (f" Sheet: {view.sheet}." if view.sheet else ""),
    ]
    lines += ["", "| column | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| {column.name} | {column.type} | {column.meaning} |" for column in view.columns]
    return "\n".join(lines) + "\n"


def data_dictionary(catalog: Catalog) -> str:
    """All public views as one Markdown page."""
    head = (
        "# Data dictionary\n\n"
        f"Catalog {CATALOG_VERSION}. Written by `make docs` from the headers in `sql/marts/`; do not edit.\n"
        "Times are integer nanoseconds, sizes bytes; what was not measured is NULL.\n"
    )
    return head + "\n" + "\n".join(describe_view(view) for view in catalog.marts)


def main() -> None:
    """Write the generated pages of `docs/`, and `sql/catalog.lock`, in a checkout. Raises CatalogError."""
    catalog = Catalog()
    root = catalog.folder.parent
    columns = public_columns(catalog)
    lock = root / "sql/catalog.lock"
    check_version(lock.read_text(encoding="utf-8"), columns)
    written = {
        "docs/data-dictionary.md": data_dictionary(catalog),
        "docs/views.md": view_graph(catalog),
        "sql/catalog.lock": columns,
    }
    for name, text in written.items():
        Path(root, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except CatalogError as error:
        sys.exit(str(error))
