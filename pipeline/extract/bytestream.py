"""Reads a source file out of its containers, which are recognised by their bytes, never by the file's name."""

from __future__ import annotations

import codecs
import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from isal import isal_zlib

from pipeline.errors import InputError
from pipeline.extract.containers import BLOCK_BYTES, HEAD_BYTES, Damaged, unwrap

GZIP_MAGIC = b"\x1f\x8b"
BLOCKS_AHEAD = 8
_GZIP_WINDOW = 16 + isal_zlib.MAX_WBITS
# A call that meets damage loses what it has decompressed, so each gets only a little.
_GZIP_PIECE_BYTES = 8 << 10
# The most containers inside one another: `trace.json.gz` in `trace.tar.xz` is three.
_LAYERS = 4
# Byte order marks, as Windows shells write them. Without one, the first two characters of JSON show the encoding.
_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class ByteStream:
    """A file as blocks of text in UTF-8, taken out of its containers, and what was wrong with these.

    `fault` is None, or says why the compressed data ends early. Everything before the damage is delivered, except for
    the last kilobytes of gzip. `trailing_bytes` counts bytes after the last gzip member. `containers` names the
    containers from the outside in. `content_hash` identifies the file's bytes once `blocks` is exhausted. `progress` is
    called with numbers of bytes read from disk.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.fault: str | None = None
        self.trailing_bytes = 0
        self.size = 0
        self.containers: list[str] = []
        self._hash = hashlib.sha256()
        self._progress = progress or (lambda _: None)

    def blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks of bounded size. Raises InputError if nothing can be read."""
        try:
            with self.path.open("rb") as file:
                raw = self._raw_blocks(file.read)
                try:
                    yield from self._text(self._unwrapped(raw))
                except Damaged as damage:
                    self.fault = str(damage)
                for _ in raw:  # bytes after the damage still count for the size and the hash
                    pass
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def blocks_ahead(self) -> Iterator[bytes]:
        """`blocks`, read and decompressed in a thread, a few blocks ahead of the consumer."""
        blocks = self.blocks()
        pool = ThreadPoolExecutor(1)
        try:
            pending = deque(pool.submit(next, blocks, b"") for _ in range(BLOCKS_AHEAD))
            while block := pending.popleft().result():
                pending.append(pool.submit(next, blocks, b""))
                yield block
        finally:
            # No waiting: if the consumer gives up, this generator may be closed in any thread, even the pool's own.
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

    def _unwrapped(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The content inside all containers, which may be nested."""
        for layer in range(_LAYERS):
            head = _head(blocks)
            blocks = _chain(head, blocks)
            if head.startswith(GZIP_MAGIC):
                self.containers.append("gzip")
                blocks = self._gunzip(blocks)
            elif found := unwrap(self.path, head, blocks, layer == 0):
                name, blocks = found
                self.containers.append(name)
            else:
                return blocks
        raise InputError(f"{self.path}: {' in '.join(reversed(self.containers))}: nested too deeply; unpack it")

    def _text(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The text in UTF-8. Bytes without the signs of another encoding are left as they are."""
        head = _head(blocks)
        encoding = next((name for mark, name in _ENCODINGS.items() if head.startswith(mark)), None)
        if encoding is None and head[:1] in (b"{", b"[") and head[1:2] == b"\0":
            encoding = "utf-16-le"
        blocks = _chain(head, blocks)
        return blocks if encoding is None else _reencoded(blocks, encoding)

    def _gunzip(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Decompress gzip members, which follow each other without a gap (RFC 1952, 2.2); zero padding may follow."""
        member = isal_zlib.decompressobj(_GZIP_WINDOW)
        for block in _pieces(raw, _GZIP_PIECE_BYTES):
            while block:
                if member.eof:
                    if self.trailing_bytes or not GZIP_MAGIC.startswith(block[: len(GZIP_MAGIC)]):
                        self.trailing_bytes += len(block.strip(b"\0"))
                        break
                    member = isal_zlib.decompressobj(_GZIP_WINDOW)
                try:
                    data = member.decompress(block, 4 * BLOCK_BYTES)
                except isal_zlib.error as error:  # type: ignore[misc]
                    raise Damaged(f"the compressed data is damaged ({error})") from error
                if data:
                    yield data
                block = member.unused_data if member.eof else member.unconsumed_tail
        if not member.eof:
            if rest := member.flush():
                yield rest
            raise Damaged("the compressed data ends without its trailer")


def _head(blocks: Iterator[bytes]) -> bytes:
    """The first blocks, as many as are needed to recognise a container."""
    head = b""
    while len(head) < HEAD_BYTES and (block := next(blocks, b"")):
        head += block
    return head


def _pieces(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), size):
            yield block[start : start + size]


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _reencoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Re-encode text in UTF-8. Lone surrogates are kept, and mended by the reader of the text."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for block in blocks:
            if text := decoder.decode(block):
                yield text.encode("utf-8", "surrogatepass")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Damaged(f"the text is damaged ({error.reason})") from error


def beginning(path: Path) -> bytes:
    """The first block of a file's text; empty if there is none. Raises InputError if the file cannot be read."""
    return next(ByteStream(path).blocks(), b"")
