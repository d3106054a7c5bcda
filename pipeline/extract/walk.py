"""Lists everything below a folder, also through links, and the folders that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LeftOut:
    """A file or folder that looks like a profile but is not read, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """The reason, as one line."""
        return f"{self.path}: not read: {self.reason}"


def below(folder: Path) -> tuple[list[Path], list[LeftOut]]:
    """Files and folders below a folder, sorted, and the folders that cannot be read.

    No folder is listed twice: a link to a folder is followed only if nothing else leads there. Of several links, one
    that has the name of its folder is preferred.
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
