"""The graph of views: what each view reads, by layer and domain, as Markdown with Mermaid diagrams."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.catalog.catalog import Catalog
from pipeline.catalog.header import View

_HEAD = """# Graph of views

Written by `make docs` from `sql/`; do not edit. Data flows along the arrows: raw tables hold what a profiler recorded,
`staging` renames and types it, `intermediate` works out what belongs together, `marts` answer questions. Views marked ●
are computed once per run, at ingest.
"""


def view_graph(catalog: Catalog) -> str:
    """One Markdown page: a diagram of the groups of views, then for each group what its views read."""
    views = [view for view in catalog.views.values() if view.file is None]
    group_of = {view.qualified: _group(view) for view in views}
    groups = sorted(set(group_of.values()), key=_order)
    between = {
        (_group_of(reference, group_of), group_of[view.qualified])
        for view in views
        for reference in view.references
        if reference.split(".", maxsplit=1)[0] not in ("macros", "seeds")
    }
    edges = sorted((source, target) for source, target in between if source != target)
    sections = [_section(group, [view for view in views if group_of[view.qualified] == group]) for group in groups]
    return "\n".join(
        [_HEAD, _diagram((_id(group), group) for group in ("raw", *groups)), *_arrows(edges), "```\n", *sections]
    )


def _section(group: str, views: list[View]) -> str:
    """A table of one group. A domain also gets a diagram; in that of a whole layer, arrows would hide everything."""
    own = {view.qualified for view in views}
    lines = [f"## {group}", ""]
    if "/" in group:
        read = {(reference, view.qualified) for view in views for reference in view.references if _is_data(reference)}
        outside = sorted({source for source, _ in read} - own)
        lines += [
            _diagram([(_id(view.qualified), _name(view)) for view in views]),
            *(f'    {_id(name)}(["{name.split(".")[1]}"])' for name in outside),
            *_arrows(sorted(read)),
            "```\n",
        ]
    lines += ["| view | what it holds | reads |", "| --- | --- | --- |"]
    for view in sorted(views, key=lambda view: view.name):
        reads = ", ".join(reference.split(".")[1] for reference in sorted(view.references) if _is_data(reference))
        lines.append(f"| {_name(view)} | {view.summary} | {reads} |")
    return "\n".join(lines) + "\n"


def _diagram(nodes: Iterable[tuple[str, str]]) -> str:
    return "\n".join(["```mermaid", "graph LR", *(f'    {ident}["{label}"]' for ident, label in nodes)])


def _arrows(edges: Iterable[tuple[str, str]]) -> list[str]:
    return [f"    {_id(source)} --> {_id(target)}" for source, target in edges]


def _group(view: View) -> str:
    return f"{view.layer}/{view.domain}" if view.domain else view.layer


def _group_of(reference: str, group_of: dict[str, str]) -> str:
    return group_of.get(reference, reference.split(".", maxsplit=1)[0])


def _order(group: str) -> tuple[int, str]:
    return ("staging", "intermediate", "marts").index(group.split("/", maxsplit=1)[0]), group


def _name(view: View) -> str:
    return f"{view.name} ●" if view.materialized else view.name


def _id(name: str) -> str:
    return name.replace("/", "_").replace(".", "_")


def _is_data(reference: str) -> bool:
    return reference.split(".", maxsplit=1)[0] != "macros"
