"""A window on a text: it reads more text as needed, and drops what has been consumed."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Window:
    """The part of a text that begins at `start` in `text`. `fill` reads more; what lies before `start` is dropped."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.text = b""
        self.start = 0
        self.at_end_of_file = False
        self._before = 0
        self._blocks = blocks

    def __len__(self) -> int:
        """Bytes in the window."""
        return len(self.text) - self.start

    @property
    def offset(self) -> int:
        """The offset of `start` in the whole text."""
        return self._before + self.start

    def fill(self, size: int) -> bool:
        """Read until the window has at least `size` bytes; False if the text ends before."""
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
        """Read until the window has twice as many bytes, at least one; False if there is no more text."""
        have = len(self)
        self.fill(max(1, 2 * have))
        return len(self) > have

    def peek(self, size: int) -> bytes:
        """The next bytes, without consuming them; fewer at the end of the text."""
        self.fill(size)
        return self.text[self.start : self.start + size]

    def take(self, size: int) -> bytes:
        """Consume and return up to `size` bytes of the window."""
        taken = self.text[self.start : self.start + size]
        self.start += len(taken)
        return taken

    def put_back(self, text: bytes) -> None:
        """Undo consuming `text`, which must be the text taken last."""
        self._before = self.offset - len(text)
        self.text, self.start = text + self.text[self.start :], 0

    def skip(self, characters: re.Pattern[bytes]) -> bytes:
        """Consume everything that matches, and return the next byte without consuming it; empty at the text's end."""
        while True:
            self.start = characters.match(self.text, self.start).end()  # type: ignore[union-attr]  # it also matches nothing
            if len(self) or not self.fill(1):
                return self.text[self.start : self.start + 1]
