"""A user's own views: SQL files under the same contract as the built-in marts, with comparisons if they declare them.

A file that breaks the contract is refused with a reason; everything else works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from pipeline.catalog.header import View, parse_view
from pipeline.errors import CatalogError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
Views = dict[str, View]


def with_own_views(
    views: Views, folders: Iterable[Path], including: Callable[[Views, View], Views]
) -> tuple[Views, dict[Path, str]]:
    """The views with those of the folders, each after what it reads; and, by path, why files were refused.

    `including` adds a view and the comparison that it declares, and raises CatalogError if they do not fit the others.
    """
    refused = {path: "" for folder in folders for path in sorted(folder.glob("*.sql"))}
    waiting = list(refused)
    while waiting:
        before = len(waiting)
        for path in list(waiting):
            try:
                views = including(views, _parsed(path, views))
            except CatalogError as error:  # it may read a view in a later file
                refused[path] = str(error).removeprefix(f"{path}: ")
            else:
                waiting.remove(path)
                del refused[path]
        if len(waiting) == before:
            break
    return views, refused


def _parsed(path: Path, views: Views) -> View:
    """The mart in a file. Raises CatalogError if the file cannot be a user's own view."""
    try:
        view = replace(parse_view(path, "marts"), file=path)
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path}: cannot be read ({error})") from error
    if not _NAME.fullmatch(view.name):
        raise CatalogError(f"{path}: the file is named like the view: a small letter, then small letters, digits and _")
    if view.qualified in views:
        raise CatalogError(f"{path}: {view.qualified} exists already; choose another name")
    if view.materialized:
        raise CatalogError(f"{path}: only built-in views may have @materialized; remove it")
    return view
