"""Reads the name of a trace: the label of its run, its rank, and the serving stage that it recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import NamedTuple

from pipeline.extract import recognition
from pipeline.extract.containers import ARCHIVE, COMPRESSED

_BEGIN, _END = r"(?:^|(?<=[._-]))", r"(?=$|[._-])"
_RANK = re.compile(rf"{_BEGIN}rank[._-]?(\d+){_END}", re.IGNORECASE)
# Kinds of parallelism, from the one with adjacent ranks to the one whose ranks are furthest apart.
_KINDS = ("tp", "sp", "cp", "ep", "dp", "pp")
_COORDINATE = re.compile(rf"{_BEGIN}({'|'.join(_KINDS)})([._-]?rank)?([._-])?(\d+){_END}", re.IGNORECASE)
_STAGE = re.compile(
    rf"{_BEGIN}((?:(?:draft|split|target)[_-])?(?:extend|prefill|decode|verify)|mixed|draft){_END}", re.IGNORECASE
)


class _Coordinate(NamedTuple):
    """A rank in one kind of parallelism; `is_bare` if nothing is between the kind and the number (`tp8`)."""

    number: int
    is_bare: bool

    @property
    def may_be_size(self) -> bool:
        return self.is_bare and self.number > 0


def label_of(path: Path) -> str:
    """The label of a run for which none was given: the name of its file or folder without the suffixes of a trace."""
    suffixes = "|".join(sorted({re.escape(known.suffix) for known in recognition.FORMATS}))
    ending = rf"(\.pt)?(\.trace)?({suffixes})?({COMPRESSED}|{ARCHIVE})?$|_ascend_(pt|ms)$"
    return re.sub(ending, "", path.name, flags=re.IGNORECASE) or path.name


def rank_of(path: Path) -> int | None:
    """The rank in the name of a file or of its folder (`rank3`, `rank0_ascend_pt`, `…-TP-0`, `dp0_tp1`), else None.

    If the name has coordinates (tensor, data, pipeline parallel, …), the rank is computed from as few as distinguish
    the files of the folder, tensor parallel first. Sizes of groups are taken from the names in the folder.
    """
    path = path.absolute()
    ranks = (_rank_in_name(place) for place in (path, path.parent))
    return next((rank for rank in ranks if rank is not None), None)


def stage_of(path: Path) -> str | None:
    """The serving stage in the name of a file or of its folder (`…-TP-0-DECODE`, `prefill/…`), else None."""
    stages = _STAGE.findall(label_of(path)) or _STAGE.findall(path.absolute().parent.name)
    return stages[-1] if stages else None


def labels_of(paths: Sequence[Path], names: Sequence[str], label: str | None) -> list[str]:
    """Labels of runs: their names, or the given label, with the serving stage appended if paths have several.

    Recordings of different serving stages are not ranks of one execution.
    """
    if label is None:
        return list(names)
    stages = [stage_of(path) for path in paths]
    several = len({stage and stage.lower() for stage in stages}) > 1
    return [f"{label}-{stage}" if several and stage else label for stage in stages]


def _rank_in_name(path: Path) -> int | None:
    """The rank in a name; None if it has none, or two different ones."""
    name = label_of(path)
    if ranks := set(map(int, _RANK.findall(_COORDINATE.sub("", name)))):
        return ranks.pop() if len(ranks) == 1 else None
    own = _coordinates(name)
    if not own:
        return None
    stage = stage_of(path)
    beside = (_coordinates(label_of(other)) for other in _beside(path) if stage_of(other) == stage)
    return _rank(own, [own, *(other for other in beside if other.keys() == own.keys())])


def _beside(path: Path) -> list[Path]:
    """Everything in the folder of a path; nothing if the folder cannot be listed."""
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _coordinates(name: str) -> dict[str, _Coordinate]:
    return {
        kind.lower(): _Coordinate(int(number), not word and not separator)
        for kind, word, separator, number in _COORDINATE.findall(name)
    }


def _rank(own: dict[str, _Coordinate], all_of_them: Sequence[dict[str, _Coordinate]]) -> int | None:
    # A kind whose numbers are all bare and positive has sizes of groups (`llama-tp8`), not coordinates.
    kinds = [kind for kind in _KINDS if kind in own and not all(one[kind].may_be_size for one in all_of_them)]
    if not kinds:
        return None
    places = {tuple(one[kind].number for kind in kinds) for one in all_of_them}
    ends = range(1, len(kinds))
    used = next((end for end in ends if len({place[:end] for place in places}) == len(places)), len(kinds))
    sizes = [1 + max(place[end] for place in places) for end in range(used)]
    return sum(own[kind].number * prod(sizes[:end]) for end, kind in enumerate(kinds[:used]))
