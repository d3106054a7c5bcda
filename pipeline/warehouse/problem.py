"""Problems of a run, as text for people."""

from __future__ import annotations

from pipeline.schema import PROBLEM_KINDS, TOLD_APART

# Kind, count, and the first detail.
Problem = tuple[str, int, str]
# Names in traces may be long; marts.problem has each detail in full.
_DETAIL_CHARACTERS = 100


def problem_text(kind: str, count: int, detail: str) -> str:
    """A problem as text: how often, what, and where first."""
    first = detail if len(detail) <= _DETAIL_CHARACTERS else detail[: _DETAIL_CHARACTERS - 1] + "…"
    what = f"{count} × {PROBLEM_KINDS.get(kind, kind)}"
    if kind in TOLD_APART:
        return f"{what}: {first}"
    return what + (f" (first: {first})" if first else "")
