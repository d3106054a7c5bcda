"""Containers of files: compression and archives, recognised by their first bytes, and streamed.

Nothing is unpacked to disk, and memory is bounded by blocks, whatever a file claims to contain: a decompression bomb is
only a long stream. An archive with one file is read. One with several files is refused, since each file of a profiler
is a run or a part of one, and its name matters.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import InputError

BLOCK_BYTES = 1 << 20
# Suffixes of compressed files, and of archives, which may be compressed too.
COMPRESSED = r"\.(?:gz|xz|bz2|zst|lz4)"
ARCHIVE = rf"\.(?:zip|tgz|txz|tar(?:{COMPRESSED})?)"
# Enough bytes to recognise every container below; a tar has its magic after the name of its first file.
HEAD_BYTES = 512
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC = slice(257, 262)
# Containers that cannot be streamed here.
_REFUSED = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "RAR", b"\x1f\x9d": "compress (.Z)"}
# Memory for decompression: the window of xz's largest preset is 64 MiB.
_MEMORY_LIMIT = 256 << 20
# The headers of an archive are read into memory whole.
_HEADER_LIMIT = 16 << 20
_TOO_LARGE = f"headers of the archive are larger than {_HEADER_LIMIT >> 20} MiB; unpack it"
_NAMES_TOLD = 5
# Files that macOS adds to archives.
_ASIDE = ("__MACOSX/", "._", ".DS_Store")

Blocks = Iterator[bytes]


class Damaged(Exception):
    """Compressed data cannot be read further; everything before was yielded."""


class BlockFile(io.RawIOBase):
    """Blocks as a file. If there is a `budget`, reading more bytes than that raises InputError."""

    def __init__(self, path: Path, blocks: Blocks) -> None:
        self.budget: int | None = None
        self._path = path
        self._blocks = blocks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer as much as there is; return 0 at the end."""
        self._left = self._left or memoryview(next(self._blocks, b""))
        size = min(len(buffer), len(self._left))
        if self.budget is not None and (budget := self.budget - size) < 0:
            raise InputError(f"{self._path}: {_TOO_LARGE}")
        self.budget = None if self.budget is None else budget
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def unwrap(path: Path, head: bytes, blocks: Blocks, is_file: bool) -> tuple[str, Blocks] | None:
    """The name of the container that begins with `head`, and its content; None if it is not a container.

    `is_file` means that `blocks` are those of the file itself, not of what another container has. The returned blocks
    raise Damaged where the data is damaged, and InputError if nothing can be read.
    """
    for magic, name in _REFUSED.items():
        if head.startswith(magic):
            raise InputError(f"{path}: {name} archives cannot be read; unpack it and name the trace or the folder")
    if head.startswith(b"\xfd7zXZ\0"):
        return "xz", _decompressed(blocks, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_LIMIT))
    if head.startswith(b"BZh"):
        return "bzip2", _decompressed(blocks, bz2.BZ2Decompressor)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd", _by_arrow(path, blocks, "zstd")
    if head.startswith(b"\x04\x22\x4d\x18"):
        return "lz4", _by_arrow(path, blocks, "lz4")
    if head[_TAR_MAGIC] == b"ustar":
        return "tar", _tar(path, blocks)
    if head.startswith(_ZIP_MAGIC):
        if not is_file:
            raise InputError(f"{path}: a zip inside another container; unpack it and name the trace or the folder")
        return "zip", _zip(path)
    return None


def _decompressed(blocks: Blocks, begin: Callable[[], Any]) -> Blocks:
    """Decompress streams of xz or bzip2, one after another; there may be zeros between and after them."""
    stream = begin()
    is_fresh = False
    for block in blocks:
        while block or not (stream.eof or stream.needs_input):
            if stream.eof:
                block = block.lstrip(b"\0")
                if not block:
                    break
                stream, is_fresh = begin(), True
            try:
                data = stream.decompress(block, 4 * BLOCK_BYTES)
            except (OSError, lzma.LZMAError) as error:
                raise Damaged(f"the compressed data is damaged ({error})") from error
            if data:
                yield data
            is_fresh = False
            block = stream.unused_data if stream.eof else b""
    if not stream.eof and not is_fresh:
        raise Damaged("the compressed data ends early")


def _by_arrow(path: Path, blocks: Blocks, codec: str) -> Blocks:
    file = io.BufferedReader(BlockFile(path, blocks), BLOCK_BYTES)
    stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec)
    while True:
        try:
            # A little at a time, since a read that fails loses what it has decompressed.
            data = stream.read(BLOCK_BYTES >> 4)
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"the compressed data is damaged ({error})") from error
        if not data:
            return
        yield data


def _tar(path: Path, blocks: Blocks) -> Blocks:
    source = BlockFile(path, blocks)
    source.budget = _HEADER_LIMIT
    names: list[str] = []
    try:
        with tarfile.open(fileobj=io.BufferedReader(source), mode="r|") as archive:
            while len(names) < _NAMES_TOLD:
                source.budget = _HEADER_LIMIT
                member = archive.next()
                source.budget = None
                if member is None:
                    break
                if not (content := archive.extractfile(member)):
                    continue
                is_read = not names and not _is_aside(member.name)
                names += [] if _is_aside(member.name) else [member.name]
                while data := content.read(BLOCK_BYTES):
                    if is_read:
                        yield data
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise Damaged(f"the archive is damaged ({error})") from error
    _only(path, names)
    for _ in blocks:  # so that damage after the archive is found
        pass


def _zip(path: Path) -> Blocks:
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(_Bounded(path, file))
            members = [info for info in archive.infolist() if not info.is_dir() and not _is_aside(info.filename)]
            _only(path, [info.filename for info in members])
            content = archive.open(members[0])
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, struct.error) as error:
            raise InputError(f"{path}: the zip cannot be read ({error}); unpack it or pack it again") from error
        try:
            while data := content.read(BLOCK_BYTES):
                yield data
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError) as error:
            raise Damaged(f"the archive is damaged ({error})") from error


class _Bounded:
    """A file that refuses to read more than some megabytes at once: a zip's directory is read whole."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path = path
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read. Raises InputError if more than the limit is asked for."""
        if size > _HEADER_LIMIT:
            raise InputError(f"{self._path}: {_TOO_LARGE}")
        data: bytes = self._file.read(size)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _only(path: Path, names: list[str]) -> None:
    """Raise InputError unless there is exactly one name."""
    if len(names) == 1:
        return
    told = ", ".join(names[:_NAMES_TOLD]) + (", …" if len(names) >= _NAMES_TOLD else "")
    held = f"several files ({told})" if names else "no file"
    raise InputError(f"{path}: the archive has {held}; unpack it and name the trace or the folder")


def _is_aside(name: str) -> bool:
    return name.startswith(_ASIDE) or name.rpartition("/")[2].startswith(_ASIDE)
