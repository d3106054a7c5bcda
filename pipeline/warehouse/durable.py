"""Writes that survive a power cut: files and folders are on disk before anything names them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# A file system writes its journal once for all syncs that wait at the same time.
_AT_ONCE = 16
# Errors of file systems on which folders cannot be synced.
_NOTHING_TO_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def sync(paths: Iterable[Path]) -> None:
    """Wait until files and folders are on disk. For a folder that means its list of names, not the files in it."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(_sync, dict.fromkeys(paths)):
            pass


def publish(moves: Mapping[Path, Path], root: Path) -> None:
    """Move finished folders to their places below `root`; their contents and their names are then on disk.

    A folder that is there already is as good as the new one, and stays.
    """
    sync(path for source in moves for path in (*source.iterdir(), source))
    for source, target in moves.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            source.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    sync(parent for target in moves.values() for parent in target.parents if parent.is_relative_to(root))


def replace(source: Path, target: Path) -> None:
    """Replace `target` by a finished file. Readers see the old file or the whole new one, even after a power cut."""
    sync([source])
    source.replace(target)
    sync([target.parent])


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOTHING_TO_SYNC:
            raise
    finally:
        os.close(handle)
