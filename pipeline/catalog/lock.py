"""The lock of public columns: it lists the columns of CATALOG_VERSION, so that neither changes without the other."""

from __future__ import annotations

from pathlib import Path

from pipeline.catalog.catalog import CATALOG_VERSION, Catalog
from pipeline.errors import CatalogError


def public_columns(catalog: Catalog) -> str:
    """The version and the marts' public columns with their types, one per line."""
    lines = [f"catalog_version {CATALOG_VERSION}"]
    for view in catalog.marts:
        lines += [f"{view.qualified}.{column.name} {column.type}" for column in view.columns]
    return "\n".join(lines) + "\n"


def locked(path: Path, catalog: Catalog) -> str:
    """Text of the lock. Raises CatalogError if the catalog's columns differ from it and need a higher version."""
    text = path.read_text(encoding="utf-8")
    check_version(text, public_columns(catalog))
    return text


def check_version(before: str, now: str) -> None:
    """Check one list of public columns against the one before, since users' queries rely on the names.

    Raises CatalogError if a column is gone or changed and the major number is not higher, or if a column is new and
    neither the major nor the minor number is higher.
    """
    (old, columns_before), (new, columns_now) = _parsed(before), _parsed(now)
    numbers = [".".join(map(str, version)) for version in (new, old)]
    if new < old:
        raise CatalogError(f"CATALOG_VERSION {numbers[0]} is older than {numbers[1]}, the version of the lock")
    lost = [name for name, kind in columns_before.items() if columns_now.get(name) != kind]
    added = [name for name in columns_now if name not in columns_before]
    if lost and new[0] == old[0]:
        raise CatalogError(f"{', '.join(lost)} is gone or changed; raise the major number of CATALOG_VERSION")
    if added and new[:2] == old[:2]:
        raise CatalogError(f"{', '.join(added)} is new; raise the minor number of CATALOG_VERSION")


def _parsed(text: str) -> tuple[tuple[int, ...], dict[str, str]]:
    head, *lines = text.splitlines()
    version = tuple(int(part) for part in head.split()[1].split("."))
    return version, dict(line.split(" ", 1) for line in lines)
