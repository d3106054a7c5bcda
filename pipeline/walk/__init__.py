"""Walks over sorted rows with a stack: they compute in one pass what would take SQL sweeps and recursion.

If a view's header names a walk (`@walk calls`), the walk turns the rows of the view's body, in order, into the view's.
"""

from __future__ import annotations

from pathlib import Path

# Names of all walks. The walks themselves are in `walks`, since they need Arrow: importing it would slow every command.
NAMES = ("calls", "operators")


def source(name: str) -> str:
    """The code of a walk: where it changes, what the walk has made before is stale."""
    return "".join(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8") for module in (name, "rows"))
