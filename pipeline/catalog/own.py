"""A user's own views: SQL files under the same contract as the built-in ones, marts and comparisons among them.

A file that breaks the contract is refused with the reason, and everything else works.
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
    """The views and those of the folders, each after what it reads; and why files were refused.

    `including` adds one view and what it declares, and raises CatalogError where they do not fit the others.
    """
    refused = {path: "" for folder in folders for path in sorted(folder.glob("*.sql"))}
    waiting = list(refused)
    while waiting:
        before = len(waiting)
        for path in list(waiting):
            try:
                views = including(views, _parsed(path, views))
            except CatalogError as error:  # what it reads may be in a later file
                refused[path] = str(error).removeprefix(f"{path}: ")
            else:
                waiting.remove(path)
                del refused[path]
        if len(waiting) == before:
            break
    return views, refused


def _parsed(path: Path, views: Views) -> View:
    """The mart in a file. Raises CatalogError."""
    try:
        view = replace(parse_view(path, "marts"), file=path)
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path}: cannot be read ({error})") from error
    if not _NAME.fullmatch(view.name):
        raise CatalogError(f"{path}: the file's name is the view's: small letters, digits and _")
    if view.qualified in views:
        raise CatalogError(f"{path}: there is a {view.qualified} already; choose another name")
    if view.materialized:
        raise CatalogError(f"{path}: @materialized is for built-in views")
    return view
