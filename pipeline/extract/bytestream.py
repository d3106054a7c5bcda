"""Bytes of a source file, out of whatever they come wrapped in: that is told by its bytes, never by the file's name."""

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
# What a call has decompressed before it meets damage is lost: little is given at once.
_GZIP_PIECE_BYTES = 8 << 10
# Containers in one another: `trace.json.gz` in `trace.tar.xz` is three.
_LAYERS = 4
# What a shell of Windows writes. Without a mark, the first two characters of JSON tell.
_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class ByteStream:
    """A file as blocks of text in UTF-8, with what was wrong with what it came in.

    `fault` is None, or says why the compressed data ends early; what comes before is delivered, but for the last
    kilobytes of gzip before damage.
    `trailing_bytes` counts bytes behind the last gzip member that belong to no member. `containers` names what the
    text was in, from the outside in. `content_hash` identifies the file's bytes once `blocks` is exhausted.
    `progress` is called with the number of bytes read from disk.
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
        """Yield the content in blocks of bounded size. Raises InputError where nothing can be read."""
        try:
            with self.path.open("rb") as file:
                raw = self._raw_blocks(file.read)
                try:
                    yield from self._text(self._unwrapped(raw))
                except Damaged as damage:
                    self.fault = str(damage)
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

    def _unwrapped(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """What is in the containers, one in another."""
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
        raise InputError(f"{self.path}: {' in '.join(reversed(self.containers))}; unpack it")

    def _text(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The text in UTF-8; what is in no other encoding is left as it is."""
        head = _head(blocks)
        encoding = next((name for mark, name in _ENCODINGS.items() if head.startswith(mark)), None)
        if encoding is None and head[:1] in (b"{", b"[") and head[1:2] == b"\0":
            encoding = "utf-16-le"
        blocks = _chain(head, blocks)
        return blocks if encoding is None else _reencoded(blocks, encoding)

    def _gunzip(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Members follow one another without a gap (RFC 1952, 2.2); zero padding behind them is allowed."""
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
    """The first blocks, as many as tell a container."""
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
    """Text of another encoding in UTF-8. What is no character stays no character, and is mended where it is read."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for block in blocks:
            if text := decoder.decode(block):
                yield text.encode("utf-8", "surrogatepass")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Damaged(f"the text is damaged ({error.reason})") from error


def beginning(path: Path) -> bytes:
    """The first block of a file's text, empty where it has none. Raises InputError."""
    return next(ByteStream(path).blocks(), b"")
