"""The event array of a trace file as chunks of whole events, and the JSON object around it.

A trace is one JSON object with a huge array `traceEvents` somewhere in it, or the bare array. Only the envelope is
parsed here (by ijson). The array is cut into chunks at places that look like `} , {`: whether the cut was right is
proved by parsing the chunk, since text from the start of an event to a `}` is a valid array body if and only if it
holds whole events. A chunk that does not parse is read again the careful way: bracket by bracket.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import ijson
import pyarrow as pa

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.jsontext import Repaired, is_suspect, repair, shallow_length, value_spans
from pipeline.extract.report import Report

CHUNK_BYTES = 8 << 20
CHUNKS_AHEAD = 4
# Metadata before and behind the events is held as one piece each; real ones are a few kilobytes.
ENVELOPE_LIMIT = 64 << 20
# A single event larger than this is damage (an unclosed string swallows what follows), not data.
EVENT_LIMIT = 64 << 20
_WHITESPACE = b" \t\r\n"
_SEPARATORS = _WHITESPACE + b","
_LEADING = re.compile(b"[%s]*" % _SEPARATORS)
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_CUT = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
_LAST = re.compile(rb"\}[ \t\r\n]*\](?=[ \t\r\n]*(?:[,}]|\Z))")
_NEXT_EVENT = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|id|args|bp|s|dur)")')

Parse = Callable[[bytes], pa.Table]


class InvalidChunk(Exception):
    """A chunk is not the body of a JSON array: the cut was wrong, or the text is damaged."""


class EventArray:
    """One pass over a trace file. `envelope` holds the other top-level keys once `parse_with` is exhausted."""

    def __init__(self, stream: ByteStream, report: Report) -> None:
        self.envelope: dict[str, Any] = {}
        self._stream = stream
        self._blocks = stream.blocks_ahead()
        self._report = report
        self._buffer = b""
        self._at_end_of_file = False
        self._bare_array = False
        self._ended = False
        self._event_index = 0

    def parse_with(
        self, reference: Parse, bulk: Parse | None = None, pool: Executor | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of every chunk, in order of the file.

        Both parsers take `event, event, …` without brackets, and raise InvalidChunk for anything but whole events.
        `bulk` reads whole chunks, ahead of the consumer where a `pool` is given; `reference` reads what it refuses.
        Raises InputError where the file holds no event array.
        """
        head = self._find_events()
        # What the reference would change without a word; DuckDB's reader refuses it.
        refuse = is_suspect if bulk is None else lambda _: False
        for batch in self._batches(reference, bulk or reference, refuse, pool):
            self._event_index += batch.num_rows
            yield batch
        self._read_envelope(head)

    def _batches(
        self, reference: Parse, bulk: Parse, refuse: Callable[[bytes], bool], pool: Executor | None
    ) -> Iterator[pa.Table]:
        pending: deque[tuple[bytes, bytes, Future[pa.Table]]] = deque()
        while True:
            while pool and len(pending) < CHUNKS_AHEAD and (cut := self._cut_ahead()):
                pending.append((*cut, pool.submit(bulk, cut[1])))
            if pending:
                _, chunk, future = pending.popleft()
                batch = None if refuse(chunk) else _try(future.result)
                if batch is None:
                    # A wrong cut makes the later ones wrong, too: stand at this chunk again.
                    later = (text for separators, body, _ in pending for text in (separators, body))
                    self._buffer = b"".join([chunk, *later, self._buffer])
                    pending.clear()
            elif self._stands_at_event():
                chunk = self._cut()
                batch = None if not chunk or refuse(chunk) else _try(bulk, chunk)
                if batch is not None:
                    self._buffer = self._buffer[len(chunk) :]
            else:
                return
            if batch is None:
                yield from self._careful(reference)
            else:
                yield batch

    # -- the envelope ----------------------------------------------------------------------------------

    def _find_events(self) -> bytes:
        """Read up to the first event; return the envelope's text before the array."""
        self._fill(1)
        self._buffer = self._buffer.removeprefix(b"\xef\xbb\xbf").lstrip(_WHITESPACE)
        while not self._buffer and self._fill(1):
            self._buffer = self._buffer.lstrip(_WHITESPACE)
        path = self._stream.path
        if not self._buffer:
            raise InputError(f"{path}: the file is empty; record the profile again or name another file")
        if self._buffer[:1] == b"[":
            self._bare_array = True
            self._buffer = self._buffer[1:]
            return b""
        if self._buffer[:1] != b"{":
            raise InputError(
                f"{path}: not JSON (starts with {self._buffer[:20]!r}); give a Kineto trace, .json or .json.gz"
            )
        searched = 0
        while True:
            for match in _EVENTS_KEY.finditer(self._buffer, searched):
                head = repair(self._buffer[: match.end()]).text
                if _opens_events(head):
                    self._buffer = self._buffer[match.end() :]
                    return head
            searched = max(0, len(self._buffer) - 1024)
            if len(self._buffer) > ENVELOPE_LIMIT:
                limit = f"{ENVELOPE_LIMIT >> 20} MiB"
                raise InputError(f'{path}: no "traceEvents" in the first {limit}: not a profiler trace')
            if not self._fill(len(self._buffer) + 1):
                raise InputError(f'{path}: JSON without "traceEvents": not a profiler trace')

    def _read_envelope(self, head: bytes) -> None:
        """Parse what surrounds the events; an envelope that was cut gives the keys that are complete."""
        if self._bare_array:
            return
        self._fill(ENVELOPE_LIMIT)
        pairs = ijson.sendable_list()
        parser = ijson.kvitems_coro(pairs, "", use_float=False)
        try:
            tail = repair(self._buffer).text
            parser.send(head + b"]" + tail[: shallow_length(tail)])
            parser.close()
        except (ijson.JSONError, StopIteration):
            pass  # cut or damaged: the keys before that place are complete
        self._buffer = b""
        for _ in self._blocks:  # bytes behind the envelope still count as read
            pass
        self.envelope = {key: value for key, value in pairs if key != "traceEvents"}

    # -- cutting ---------------------------------------------------------------------------------------

    def _fill(self, size: int) -> bool:
        """Have at least `size` bytes in the buffer; False where the file ends before."""
        if len(self._buffer) >= size:
            return True
        parts = [self._buffer]
        have = len(self._buffer)
        while have < size and not self._at_end_of_file:
            block = next(self._blocks, None)
            if block is None:
                self._at_end_of_file = True
                break
            parts.append(block)
            have += len(block)
        self._buffer = b"".join(parts)
        return have >= size

    def _cut_ahead(self) -> tuple[bytes, bytes] | None:
        """Take a full chunk off the buffer, with the separators before it: part of a text, where the cut was wrong.

        None near the end of the file, where the array may end.
        """
        if not self._fill(CHUNK_BYTES):
            return None
        start = _LEADING.match(self._buffer).end()  # type: ignore[union-attr]  # it matches anything
        end = self._last_match(_CUT) + 1
        if end == 0 or self._buffer[start : start + 1] == b"]":
            return None
        cut = self._buffer[:start], self._buffer[start:end]
        self._buffer = self._buffer[end:]
        return cut

    def _cut(self) -> bytes:
        """Return a prefix of the buffer that looks like whole events; empty where there is no such place."""
        end = self._last_match(_CUT if self._fill(CHUNK_BYTES) else _LAST)
        return self._buffer[: end + 1]

    def _last_match(self, pattern: re.Pattern[bytes]) -> int:
        """Position of the last match, searched backwards through growing tails; -1 without one."""
        size = 1 << 12
        while True:
            start = max(0, len(self._buffer) - size)
            matches = [match.start() for match in pattern.finditer(self._buffer, start)]
            if matches:
                return matches[-1]
            if start == 0:
                return -1
            size *= 8

    def _stands_at_event(self) -> bool:
        """Skip separators up to the next event; False where the array ends, with or without its bracket."""
        if self._ended:
            return False
        self._buffer = self._buffer.lstrip(_SEPARATORS)
        while not self._buffer and self._fill(1):
            self._buffer = self._buffer.lstrip(_SEPARATORS)
        if self._buffer[:1] == b"]":
            self._buffer = self._buffer[1:]
            self._ended = True
        elif not self._buffer:
            self._truncated("no closing bracket")
        return not self._ended

    def _truncated(self, detail: str) -> None:
        self._ended = True
        self._report.problem("truncated", event_index=self._event_index, detail=self._stream.fault or detail)

    # -- the careful way -------------------------------------------------------------------------------

    def _careful(self, parse: Parse) -> Iterator[pa.Table]:
        """Read one stretch of events bracket by bracket, mending or dropping what does not parse."""
        spans = list(value_spans(self._buffer, 0))
        while not spans and len(self._buffer) < EVENT_LIMIT and not self._at_end_of_file:
            self._fill(max(CHUNK_BYTES, 2 * len(self._buffer)))
            spans = list(value_spans(self._buffer, 0))
        if not spans:
            self._resynchronise()
            return
        end = spans[-1][1]
        texts = [self._buffer[begin:stop] for begin, stop in spans]
        self._buffer = self._buffer[end:]
        yield from self._parse_mended(texts, parse)

    def _parse_mended(self, texts: list[bytes], parse: Parse) -> Iterator[pa.Table]:
        mended = [repair(text) for text in texts]
        is_shallow = [shallow_length(event.text) == len(event.text) for event in mended]
        whole = _try(parse, b",".join(event.text for event in mended)) if all(is_shallow) else None
        if whole is not None:
            for offset, event in enumerate(mended):
                self._mended(event, self._event_index + offset)
            yield whole
            return
        for event, parsable in zip(mended, is_shallow, strict=True):  # `_event_index` moves on with each one yielded
            parsed = _try(parse, event.text) if parsable else None
            if parsed is None:
                self._dropped(event.text)
            else:
                self._mended(event, self._event_index)
                yield parsed

    def _mended(self, event: Repaired, index: int) -> None:
        if event.text_changed:
            self._report.problem("text_repaired", event_index=index, detail=f"event {index}")
        if event.non_finite:
            self._report.problem("non_finite", event.non_finite, event_index=index, detail=f"event {index}")

    def _resynchronise(self) -> None:
        """No event starts here that also ends: go to the next place that looks like the start of one."""
        match = _NEXT_EVENT.search(self._buffer)
        if match is not None:
            self._dropped(self._buffer[: match.start() + 1])
            self._buffer = self._buffer[match.end() :]
        elif self._at_end_of_file:
            self._truncated(f"in the middle of event {self._event_index}")
            self._buffer = b""
        else:
            self._dropped(self._buffer)
            self._buffer = self._buffer[-1024:]
            self._fill(CHUNK_BYTES)

    def _dropped(self, text: bytes) -> None:
        sample = text[:80].decode("utf-8", "replace")
        self._report.problem(
            "event_dropped", event_index=self._event_index, detail=f"event {self._event_index}: {sample}"
        )


def _try(parse: Callable[..., pa.Table], *arguments: bytes) -> pa.Table | None:
    try:
        return parse(*arguments)
    except InvalidChunk:
        return None


def _opens_events(head: bytes) -> bool:
    """Is the array that `head` ends with the value of the top-level key `traceEvents`?"""
    events = ijson.sendable_list()
    if shallow_length(head) < len(head):
        return False
    try:
        ijson.parse_coro(events).send(head)
    except ijson.JSONError:
        return False
    return bool(events) and events[-1][:2] == ("traceEvents", "start_array")
