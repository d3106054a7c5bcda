"""Generated comparisons: views made from what a relation with one row per run, step and key declares in its header.

The two runs are the sides of the view, `base_…` and `comparison_…`. Its columns are the scopes, the keys, the
attributes, further columns of the pairs of scopes, the measures of both sides, and their differences and ratios. In the
difference of a sum, a side without a row counts as 0; any other difference is then NULL.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import jinja2

from pipeline.catalog.declaration import Declaration, Measure
from pipeline.catalog.header import Column, View, references
from pipeline.errors import CatalogError

SCOPE_PAIR = "intermediate.int_scope_pair"
_SIDES = {"base": "Base run", "comparison": "Comparison run"}
_STEP = "Its step; −1 for the average step, NULL for the whole run"
_SCOPES = [
    Column(f"{side}_{name}", "id", meaning)
    for side, run in _SIDES.items()
    for name, meaning in (("run_id", run), ("step", _STEP))
]
_RULE = "In the difference of a sum, a side without a row counts as 0."
# The one pair of scopes that a query asks for, in place of SCOPE_PAIR.
_STEPS_ASKED = (
    "select base_run::varchar as base_run_id, base_number::bigint as base_step,"
    " comparison_run::varchar as comparison_run_id, comparison_number::bigint as comparison_step"
)
_PARAMETERS = "base_run, base_number, comparison_run, comparison_number"


def with_comparisons(views: Sequence[View], others: Mapping[str, View], templates: Path) -> list[View]:
    """The views and the comparisons that they declare. Raises CatalogError if a declaration is incomplete."""
    known = {**others, **{view.qualified: view for view in views}}
    template = _environment(templates).get_template("comparison.sql.j2")
    found = []
    for view in views:
        if view.comparison is None:
            found.append(view)
            continue
        own = replace(view, sheet=None, headline=False, position=0, alternative=None, requires=None, counted=None)
        found.append(own)
        found.append(_comparison(view, view.comparison, known, template))
    return found


@functools.cache
def _environment(templates: Path) -> jinja2.Environment:
    """Templates of a folder. It compiles each once, and again if the file has changed."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  (it writes SQL, and all names in it have passed the contract)
    )


def _comparison(view: View, declared: Declaration, known: Mapping[str, View], template: jinja2.Template) -> View:
    pairs = known.get(f"intermediate.{declared.pairs}" if declared.pairs else SCOPE_PAIR)
    if pairs is None:
        raise CatalogError(f"{view.qualified}: @pairs {declared.pairs}, which is not an intermediate view")
    columns = {column.name: column for column in view.columns}
    _check(view, declared, columns)
    told = [column for column in pairs.columns if not _is_scope(column)]
    shared = [column.name for column in told if column.name in columns]
    first = next((measure for measure in declared.measures if measure.ranks), declared.measures[0])
    ranked = sorted(declared.measures, key=lambda measure: measure != first)
    names = [key.column for key in declared.keys] + [key.name for key in declared.keys if key.name != key.column]
    figures = [measure.name for measure in declared.measures]
    body = template.render(
        relation=view.qualified,
        pairs=pairs.qualified,
        shared=shared,
        columns=[*shared, *names, *declared.attributes, *figures],
        keys=declared.keys,
        attributes=declared.attributes,
        pair_columns=[column.name for column in told],
        measures=declared.measures,
        differences=[measure for measure in ranked if measure.has_difference],
        ratios=[measure for measure in ranked if measure.has_ratio],
        known=declared.known,
        known_by=declared.known_by,
    )
    keys = [replace(columns[key.name], name=key.label) for key in declared.keys]
    ranks = tuple(f"diff_{measure.name}" for measure in ranked if measure.ranks)
    return replace(
        view,
        name=declared.name,
        summary=f"{view.title} of two runs side by side: one row per pair of scopes and {_enumerated(keys)}.",
        rules=f"{_RULE} {view.rules}".strip(),
        grain=tuple(column.name for column in (*_SCOPES, *keys)),
        order=declared.order or ", ".join([*(f"{rank} desc" for rank in ranks), *(key.name for key in keys)]),
        rank=ranks,
        columns=(
            *_SCOPES,
            *keys,
            *(columns[name] for name in declared.attributes),
            *told,
            *_figures(declared.measures, ranked, columns),
        ),
        listed=(),
        materialized=False,
        body=body,
        references=references(body),
        comparison=None,
    )


def _check(view: View, declared: Declaration, columns: Mapping[str, Column]) -> None:
    """Raise CatalogError if the declaration names something that is not a column."""
    wanted = ["run_id", "step", *declared.attributes, *(measure.name for measure in declared.measures)]
    wanted += [name for key in declared.keys for name in (key.column, key.name)]
    wanted += [declared.known] if declared.known else []
    for measure in declared.measures:
        if measure.adds == "average":
            wanted += [measure.name.replace("average_", "total_"), "call_count"]
    if absent := [name for name in wanted if name not in columns]:
        raise CatalogError(f"{view.qualified}: @comparison needs {', '.join(absent)}, which is not a column")


def _is_scope(column: Column) -> bool:
    return column.name in {scope.name for scope in _SCOPES}


def _figures(declared: Iterable[Measure], ranked: Sequence[Measure], columns: Mapping[str, Column]) -> Iterator[Column]:
    """Columns of the measures: both sides in declared order, then differences, then ratios, the ranking one first."""
    for side in _SIDES:
        for measure in declared:
            column = columns[measure.name]
            yield Column(f"{side}_{measure.name}", column.type, f"{column.meaning}, {side}")
    for measure in ranked:
        if measure.has_difference:
            column = columns[measure.name]
            yield Column(f"diff_{measure.name}", column.type, f"{column.meaning}, comparison − base")
    for measure in ranked:
        if measure.has_ratio:
            yield Column(f"ratio_{measure.name}", "ratio", f"{columns[measure.name].meaning}, comparison / base")


def _enumerated(keys: Sequence[Column]) -> str:
    words = [column.name.replace("_", " ") for column in keys]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def macro_of_steps(views: Mapping[str, View], view: View) -> str | None:
    """The table macro that compares any two scopes, as `signature as body`; None if the view does not pair scopes.

    Its body is the view over the one pair of scopes that the arguments name. The views between the comparison and the
    pairs are written into the body, since they read the pairs too.
    """
    if SCOPE_PAIR not in _closure(views, view):
        return None
    read = _closure(views, view)
    between = [other for name, other in views.items() if name in read and SCOPE_PAIR in _closure(views, other)]
    names = {SCOPE_PAIR, *(other.qualified for other in between)}
    parts = [f"int_scope_pair as ({_STEPS_ASKED})"]
    parts += [f"{other.name} as not materialized ({_inlined(other.body, names)})" for other in between]
    query = f"with {', '.join(parts)} select * from ({_inlined(view.body, names)})"
    return f"{view.qualified}_of_steps({_PARAMETERS}) as table {query}"


def _closure(views: Mapping[str, View], view: View) -> set[str]:
    """Names of everything that a view reads, directly or indirectly."""
    found: set[str] = set()
    waiting = [view]
    while waiting:
        for name in waiting.pop().references - found:
            found.add(name)
            if name in views:
                waiting.append(views[name])
    return found


def _inlined(body: str, names: set[str]) -> str:
    """A body that reads the named views without their schemas, as CTEs of the statement around it."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})\b", lambda found: found[0].split(".")[1], body)
