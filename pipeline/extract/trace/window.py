"""The part of a text that is being looked at, read on as needed and left behind as it is understood."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Window:
    """A text from `start` in `text` on. Nothing before it is kept for long, and what is behind it comes by `fill`."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.text = b""
        self.start = 0
        self.at_end_of_file = False
        self._before = 0
        self._blocks = blocks

    def __len__(self) -> int:
        """Bytes that can be looked at."""
        return len(self.text) - self.start

    @property
    def offset(self) -> int:
        """Place of `start` in the whole text."""
        return self._before + self.start

    def fill(self, size: int) -> bool:
        """Have at least `size` bytes; False where the text ends before."""
        have = len(self)
        if have >= size:
            return True
        parts = [self.text[self.start :]]
        while have < size and not self.at_end_of_file:
            block = next(self._blocks, None)
            if block is None:
                self.at_end_of_file = True
                break
            parts.append(block)
            have += len(block)
        self._before += self.start
        self.text, self.start = b"".join(parts), 0
        return have >= size

    def more(self) -> bool:
        """Have twice as many bytes, or one; False where the text ends."""
        have = len(self)
        self.fill(max(1, 2 * have))
        return len(self) > have

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay; fewer where the text ends."""
        self.fill(size)
        return self.text[self.start : self.start + size]

    def take(self, size: int) -> bytes:
        """Leave some of the bytes at hand behind."""
        taken = self.text[self.start : self.start + size]
        self.start += len(taken)
        return taken

    def put_back(self, text: bytes) -> None:
        """Stand again before what was taken last."""
        self._before = self.offset - len(text)
        self.text, self.start = text + self.text[self.start :], 0

    def skip(self, characters: re.Pattern[bytes]) -> bytes:
        """Leave all that matches behind, and return the next byte, which stays; nothing where the text ends."""
        while True:
            self.start = characters.match(self.text, self.start).end()  # type: ignore[union-attr]  # it matches nothing
            if len(self) or not self.fill(1):
                return self.text[self.start : self.start + 1]
