"""Cuts the event arrays of a trace file into chunks of whole events, and parses these.

An array is cut at places that look like `} , {`. Parsing a chunk verifies the cut: text from the start of an event to a
`}` is a valid array body if and only if it consists of whole events. A chunk that does not parse is read again
carefully, bracket by bracket.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import pyarrow as pa

from pipeline.extract.bytestream import ByteStream
from pipeline.extract.report import Report
from pipeline.extract.trace.documents import EVENT_LIMIT, Documents
from pipeline.extract.trace.jsontext import Repaired, has_key, is_suspect, item_spans, repair, shallow_length
from pipeline.extract.trace.window import Window

CHUNK_BYTES = 8 << 20
CHUNKS_AHEAD = 4
# After an array smaller than this, the next one is expected to be small too, so no cut is guessed.
_SMALL_ARRAY = 1 << 20
# Events without an end in a row. The text is searched for the end of each, through fewer bytes each time.
_UNFINISHED_LIMIT = 8
_LEADING = re.compile(rb"[ \t\r\n,]*")
_CUT = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
_LAST = re.compile(rb"\}[ \t\r\n]*\](?=[ \t\r\n]*(?:[,}]|\Z))")
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|id|args|bp|s|dur)")')
# Text in place of an item, up to the next place where an item may begin.
_STRAY = re.compile(rb"[^{}\[\]\",]+|.", re.DOTALL)

Parse = Callable[[bytes], pa.Table]


class InvalidChunk(Exception):
    """A chunk is not the body of a JSON array of objects: the cut was wrong or the text is damaged."""


class EventArray:
    """One pass over a trace file. `envelope` is complete once `parse_with` is exhausted."""

    def __init__(self, stream: ByteStream, report: Report) -> None:
        self._stream = stream
        self._report = report
        self._window = Window(stream.blocks_ahead())
        self._documents = Documents(self._window, stream, report)
        self._ended = False
        self._unfinished = 0

    @property
    def envelope(self) -> dict[str, Any]:
        """The keys of the objects around the events."""
        return self._documents.envelope

    def parse_with(
        self, reference: Parse, bulk: Parse | None = None, pool: Executor | None = None
    ) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of every chunk, in file order, with the `event_index` of the first; the report counts them.

        Both parsers take `event, event, …` without brackets, and raise InvalidChunk for anything but whole objects.
        `bulk` reads whole chunks, ahead of the consumer if a `pool` is given; `reference` reads what it refuses. Raises
        InputError if the file has no event array.
        """
        # The reference would silently change suspect text; DuckDB's reader refuses it by itself.
        refuse = is_suspect if bulk is None else lambda _: False
        size = _SMALL_ARRAY
        while self._documents.next_array():
            self._ended = False
            begin = self._window.offset
            for rows in self._batches(reference, bulk or reference, refuse, pool, size < _SMALL_ARRAY):
                first = self._report.next_index
                self._report.event_count += rows.num_rows
                if rows.num_rows and self._documents.array_count > 1:
                    detail = f"event {first}, of those from byte {begin} on"
                    place = {"event_index": first, "byte_offset": begin}
                    self._report.problem("events_behind", rows.num_rows, detail=detail, **place)
                yield first, rows
            size = self._window.offset - begin

    def _batches(
        self,
        reference: Parse,
        bulk: Parse,
        refuse: Callable[[bytes], bool],
        pool: Executor | None,
        is_small: bool,
    ) -> Iterator[pa.Table]:
        """The rows of one array. An array that may be small is read carefully at first."""
        pending: deque[tuple[bytes, bytes, Future[pa.Table]]] = deque()
        is_careful = is_small or self._documents.are_loose
        while True:
            while pool and not is_careful and len(pending) < CHUNKS_AHEAD and (cut := self._cut_ahead()):
                pending.append((*cut, pool.submit(bulk, cut[1])))
            batch = None
            if pending:
                _, chunk, future = pending.popleft()
                batch = None if refuse(chunk) else _try(future.result)
                if batch is None:
                    # After a wrong cut, later ones may be wrong too: go back to the start of this chunk.
                    later = (text for separators, body, _ in pending for text in (separators, body))
                    self._window.put_back(b"".join([chunk, *later]))
                    pending.clear()
            elif not self._stands_at_item():
                return
            elif not is_careful:
                chunk = self._cut()
                batch = None if not chunk or refuse(chunk) else _try(bulk, chunk)
                if batch is not None:
                    self._window.take(len(chunk))
            if batch is None:
                yield from self._careful(reference)
                is_careful = False
            else:
                yield batch

    # -- cutting ---------------------------------------------------------------------------------------

    def _cut_ahead(self) -> tuple[bytes, bytes] | None:
        """Take the separators and a full chunk off the window; the chunk may be cut at a wrong place.

        None near the end of the file, where the array may end.
        """
        window = self._window
        if not window.fill(CHUNK_BYTES):
            return None
        start = _LEADING.match(window.text, window.start).end()  # type: ignore[union-attr]  # it matches anything
        end = self._last_match(_CUT) + 1
        if end == 0 or window.text[start : start + 1] == b"]":
            return None
        return window.take(start - window.start), window.take(end - start)

    def _cut(self) -> bytes:
        """A prefix of the window that looks like whole events; empty if there is none."""
        window = self._window
        end = self._last_match(_CUT if window.fill(CHUNK_BYTES) else _LAST)
        return window.text[window.start : end + 1]

    def _last_match(self, pattern: re.Pattern[bytes]) -> int:
        """Place of the last match in the window's text, searched for in ever longer tails; -1 if there is none."""
        text, size = self._window.text, 1 << 12
        while True:
            start = max(self._window.start, len(text) - size)
            matches = [match.start() for match in pattern.finditer(text, start)]
            if matches:
                return matches[-1]
            if start == self._window.start:
                return -1
            size *= 8

    def _stands_at_item(self) -> bool:
        """Skip separators up to the next item; False if the array ends, with or without a bracket."""
        if self._ended:
            return False
        byte = self._window.skip(_LEADING)
        if byte == b"]":
            self._window.take(1)
            self._ended = True
        elif not byte:
            self._truncated("no closing bracket")
        return not self._ended

    def _truncated(self, detail: str) -> None:
        self._ended = True
        place = {"event_index": self._report.next_index, "byte_offset": self._window.offset}
        self._report.problem("truncated", detail=self._stream.fault or detail, **place)

    # -- the careful way -------------------------------------------------------------------------------

    def _careful(self, parse: Parse) -> Iterator[pa.Table]:
        """Read one stretch of events bracket by bracket; mend or drop those that do not parse."""
        window = self._window
        limit = max(CHUNK_BYTES >> 6, EVENT_LIMIT >> 2 * self._unfinished)
        while not (spans := self._spans(limit)) and len(window) < limit and not window.at_end_of_file:
            window.fill(max(CHUNK_BYTES, 2 * len(window)))
        if not spans:
            self._resynchronise()
            return
        self._unfinished = 0
        before = window.offset - window.start
        items = [(before + begin, window.text[begin:end]) for begin, end in spans]
        window.take(spans[-1][1] - window.start)
        yield from self._parse_mended([(offset, text, repair(text)) for offset, text in items], parse)

    def _spans(self, limit: int) -> list[tuple[int, int]]:
        """Spans of whole items of the array. Of events in no array, those up to the first object of another kind."""
        text, start = self._window.text, self._window.start
        spans = list(item_spans(text, start, min(len(text), start + limit)))
        if not self._documents.are_loose:
            return spans
        self._ended = True
        others = (
            place
            for place, (begin, end) in enumerate(spans)
            if b'"traceEvents"' in text[begin:end] or not has_key(text[begin:end], b'"ph"')
        )
        return spans[: max(1, next(others, len(spans)))]

    def _parse_mended(self, items: Sequence[tuple[int, bytes, Repaired]], parse: Parse) -> Iterator[pa.Table]:
        """Rows of the items that can be read as events. If not all can be, ever smaller parts are tried."""
        texts = [mended.text for *_, mended in items]
        can_be = all(text[:1] == b"{" and shallow_length(text) == len(text) for text in texts)
        rows = _try(parse, b",".join(texts)) if can_be else None
        if rows is not None:
            for place, (offset, _, mended) in enumerate(items):
                self._mended(mended, self._report.next_index + place, offset)
            yield rows
        elif len(items) == 1:
            self._dropped(*items[0][:2])
        else:
            half = len(items) // 2
            yield from self._parse_mended(items[:half], parse)
            yield from self._parse_mended(items[half:], parse)

    def _mended(self, event: Repaired, index: int, offset: int) -> None:
        place: dict[str, Any] = {"event_index": index, "byte_offset": offset, "detail": f"event {index}"}
        if event.text_changed:
            self._report.problem("text_repaired", **place)
        if event.non_finite:
            self._report.problem("non_finite", event.non_finite, **place)

    def _resynchronise(self) -> None:
        """No complete item starts here: move to the next place that looks like the start of one."""
        window = self._window
        if window.peek(1) not in (b"{", b'"', b"["):
            self._drop(_STRAY.match(window.text, window.start).end())  # type: ignore[union-attr]  # it matches a byte
            return
        self._unfinished += 1
        if self._unfinished > _UNFINISHED_LIMIT:
            self._unfinished = 0
            self._drop(len(window.text))
        elif found := _NEXT_EVENT.search(window.text, window.start):
            self._drop(found.start() + 1)
        elif window.at_end_of_file:
            self._truncated(f"in the middle of event {self._report.next_index}")
            window.take(len(window))
        else:
            self._drop(max(window.start + 1, len(window.text) - 1024))

    def _drop(self, end: int) -> None:
        """Drop the text up to the place `end` in the window's text."""
        self._dropped(self._window.offset, self._window.take(end - self._window.start))

    def _dropped(self, offset: int, text: bytes) -> None:
        index = self._report.next_index
        sample = text[:80].decode("utf-8", "replace")
        place = {"event_index": index, "byte_offset": offset}
        self._report.problem("event_dropped", detail=f"event {index}: {sample}", **place)
        self._report.dropped_count += 1


def _try(parse: Callable[..., pa.Table], *arguments: bytes) -> pa.Table | None:
    try:
        return parse(*arguments)
    except InvalidChunk:
        return None
