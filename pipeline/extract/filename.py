"""What the name of a trace tells: the label of its run, its rank, and the stage of serving that it recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path

# Endings of what a file may come wrapped in: compressed, or in an archive, which may be compressed itself.
COMPRESSED = r"\.(?:gz|xz|bz2|zst|lz4)"
ARCHIVE = rf"\.(?:zip|tgz|txz|tar(?:{COMPRESSED})?)"
_SUFFIXES = re.compile(
    rf"(\.pt)?(\.trace)?(\.json|\.db|\.csv)?({COMPRESSED}|{ARCHIVE})?$|_ascend_(pt|ms)$", re.IGNORECASE
)
_BEGIN, _END = r"(?:^|(?<=[._-]))", r"(?=$|[._-])"
_RANK = re.compile(rf"{_BEGIN}rank[._-]?(\d+){_END}", re.IGNORECASE)
# Kinds of parallelism, from the one whose ranks are next to one another to the one whose are furthest apart.
_KINDS = ("tp", "sp", "cp", "ep", "dp", "pp")
_COORDINATE = re.compile(rf"{_BEGIN}({'|'.join(_KINDS)})(?:[._-]?rank)?[._-]?(\d+){_END}", re.IGNORECASE)
_STAGE = re.compile(rf"{_BEGIN}(extend|prefill|decode|mixed|draft|verify|target[_-]verify){_END}", re.IGNORECASE)


def label_of(path: Path) -> str:
    """Label of a run that was given none: the name of its file or folder without the suffixes of a trace."""
    return _SUFFIXES.sub("", path.name) or path.name


def rank_of(path: Path) -> int | None:
    """Rank that a name tells (`rank3`, `rank-34`, `rank0_ascend_pt`, `…-TP-0`, `dp0_tp1`), None where it tells none.

    Of coordinates (tensor, data, pipeline parallel, …) the fewest count that tell the files of the folder apart, tensor
    parallel first; the sizes of the groups are those that the folder shows.
    """
    name = label_of(path)
    if match := _RANK.search(_COORDINATE.sub("", name)):
        return int(match[1])
    own = _coordinates(name)
    if not own:
        return None
    stage = stage_of(path)
    beside = [other for other in path.parent.iterdir() if stage_of(other) == stage] if path.parent.is_dir() else []
    found = [coordinates for other in beside if (coordinates := _coordinates(label_of(other))).keys() == own.keys()]
    return _rank(own, found or [own])


def stage_of(path: Path) -> str | None:
    """Stage of serving that the name of a file or of its folder tells (`…-TP-0-DECODE`, `prefill/…`), else None."""
    match = _STAGE.search(label_of(path)) or _STAGE.search(path.parent.name)
    return match[1] if match else None


def labels_of(paths: Sequence[Path], names: Sequence[str], label: str | None) -> list[str]:
    """Labels of runs: their names, or one label for all, with the stage behind it where their paths tell several.

    What recorded another stage of serving is no rank of the same execution.
    """
    if label is None:
        return list(names)
    stages = [stage_of(path) for path in paths]
    several = len({stage and stage.lower() for stage in stages}) > 1
    return [f"{label}-{stage}" if several and stage else label for stage in stages]


def _coordinates(name: str) -> dict[str, int]:
    return {kind.lower(): int(number) for kind, number in _COORDINATE.findall(name)}


def _rank(own: dict[str, int], all_of_them: Sequence[dict[str, int]]) -> int:
    kinds = [kind for kind in _KINDS if kind in own]
    count = len({tuple(sorted(one.items())) for one in all_of_them})
    used = next(
        kinds[:end]
        for end in range(1, len(kinds) + 1)
        if end == len(kinds) or len({tuple(one[kind] for kind in kinds[:end]) for one in all_of_them}) == count
    )
    sizes = [1 + max(one[kind] for one in all_of_them) for kind in used]
    return sum(own[kind] * prod(sizes[:place]) for place, kind in enumerate(used))
