"""All that is below a folder, also behind links, and what of it cannot be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that looks like a profile and is not read, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.path}: not read: {self.reason}"


def below(folder: Path) -> tuple[list[Path], list[LeftOut]]:
    """Files and folders below a folder, sorted, and folders that cannot be read.

    Links to folders are followed where nothing else leads there, so that no folder comes twice; of several links, one
    with the name of its folder.
    """
    found: list[Path] = []
    unreadable: list[LeftOut] = []
    seen: set[Path] = set()
    todo, links = [folder], list[Path]()
    while todo or links:
        here = todo.pop() if todo else links.pop(_best(links))
        if (real := here.resolve()) in seen:
            continue
        seen.add(real)
        found.append(here)
        try:
            for entry in sorted(here.iterdir()):
                if entry.is_dir():
                    (links if entry.is_symlink() else todo).append(entry)
                else:
                    found.append(entry)
        except OSError as error:
            unreadable.append(LeftOut(here, f"the folder cannot be read ({error.strerror})"))
    return sorted(found[1:]), unreadable


def _best(links: list[Path]) -> int:
    return next((place for place, link in enumerate(links) if link.name == link.resolve().name), 0)
