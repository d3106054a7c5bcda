"""Bytes of a source file, decompressed: gzip is recognised by its magic bytes, never by the file's name."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from isal import isal_zlib

from pipeline.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BLOCK_BYTES = 1 << 20
BLOCKS_AHEAD = 8
_GZIP_WINDOW = 16 + isal_zlib.MAX_WBITS


class ByteStream:
    """A file as decompressed blocks, with what was wrong with the compression.

    `fault` is None, or says why the compressed data ends early; the bytes before the fault are all delivered.
    `trailing_bytes` counts bytes behind the last gzip member that belong to no member.
    `content_hash` identifies the file's bytes once `blocks` is exhausted.
    `progress` is called with the number of bytes read from disk.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.fault: str | None = None
        self.trailing_bytes = 0
        self.size = 0
        self._hash = hashlib.sha256()
        self._progress = progress or (lambda _: None)

    def blocks(self) -> Iterator[bytes]:
        """Yield the decompressed content in blocks of bounded size. Raises InputError where reading fails."""
        try:
            with self.path.open("rb") as file:
                raw = self._raw_blocks(file.read)
                first = next(raw, b"")
                rest = _chain(first, raw)
                yield from self._gunzip(rest) if first.startswith(GZIP_MAGIC) else rest
                for _ in raw:  # what a damaged stream leaves unread still belongs to the content
                    pass
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def blocks_ahead(self) -> Iterator[bytes]:
        """`blocks`, read and decompressed in a thread of their own, a few ahead of the consumer."""
        blocks = self.blocks()
        pool = ThreadPoolExecutor(1)
        try:
            pending = deque(pool.submit(next, blocks, b"") for _ in range(BLOCKS_AHEAD))
            while block := pending.popleft().result():
                pending.append(pool.submit(next, blocks, b""))
                yield block
        finally:
            # Never waits: a consumer that gives up may be collected in any thread, the pool's own among them.
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def content_hash(self) -> str:
        """Hash of the bytes on disk."""
        return self._hash.hexdigest()

    def _raw_blocks(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        while block := read(BLOCK_BYTES):
            self._hash.update(block)
            self.size += len(block)
            self._progress(len(block))
            yield block

    def _gunzip(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Members follow one another without a gap (RFC 1952, 2.2); zero padding behind them is allowed."""
        member = isal_zlib.decompressobj(_GZIP_WINDOW)
        for block in raw:
            while block:
                if member.eof:
                    if self.trailing_bytes or not GZIP_MAGIC.startswith(block[: len(GZIP_MAGIC)]):
                        self.trailing_bytes += len(block.strip(b"\0"))
                        break
                    member = isal_zlib.decompressobj(_GZIP_WINDOW)
                try:
                    data = member.decompress(block, 4 * BLOCK_BYTES)
                except isal_zlib.error as error:  # type: ignore[misc]
                    self.fault = f"the compressed data is damaged ({error})"
                    return
                if data:
                    yield data
                block = member.unused_data if member.eof else member.unconsumed_tail
        if not member.eof:
            if rest := member.flush():
                yield rest
            self.fault = "the compressed data ends without its trailer"


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
