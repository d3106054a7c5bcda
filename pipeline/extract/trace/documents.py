"""The JSON documents of a trace file, one after another, and the metadata around their events.

A trace is one JSON object with a huge array `traceEvents` somewhere in it, or the bare array. Files may have more: a
document of another writer, a second array, events after a bracket that was closed too early, a log. All event arrays
are read. Anything that is neither events nor the metadata around them is counted, with its place.
"""

from __future__ import annotations

import re
from typing import Any

import ijson

from pipeline.errors import InputError
from pipeline.extract.bytestream import ByteStream
from pipeline.extract.report import Report
from pipeline.extract.trace.jsontext import ARRAY, END, has_key, item_spans, repair, scan_object, shallow_length
from pipeline.extract.trace.window import Window

# The metadata around the events is kept in memory; in the largest jobs it takes some tens of megabytes.
ENVELOPE_LIMIT = 64 << 20
# An event larger than this is damage, not data: an unclosed string includes everything after it.
EVENT_LIMIT = 64 << 20
_SAMPLE_BYTES = 60
_WHITESPACE = re.compile(rb"[ \t\r\n]*")
_BETWEEN = re.compile(rb"[ \t\r\n,]*")
_MARK = b"\xef\xbb\xbf"  # of UTF-8
_OPENING = re.compile(rb"[\[{]")
_LIST = re.compile(rb"\[[ \t\r\n]*([\[{])")
_OF_OBJECTS = re.compile(rb"\[[ \t\r\n]*[{\]]")


class Documents:
    """Finds the event arrays of a text one after another, and parses the objects around them.

    Once the text is read, `envelope` has the keys of these objects; if documents share a key, the first value counts.
    `are_loose` says that the next events are in no array. `array_count` counts arrays and stretches of loose events.
    """

    def __init__(self, window: Window, stream: ByteStream, report: Report) -> None:
        self.envelope: dict[str, Any] = {}
        self.are_loose = False
        self.array_count = 0
        self._window = window
        self._stream = stream
        self._report = report
        self._is_first = True
        self._in_list = False  # of documents
        # The object that the window is in: its text without the events, its offset, and how many brackets are open.
        self._object: list[bytes] | None = None
        self._size = 0
        self._object_offset = 0
        self._depth = 0
        self._has_events = False
        self._is_behind_array = False

    def next_array(self) -> bool:
        """Move to the first event of the next array; False at the end of the text.

        Raises InputError if the text has no array of events.
        """
        self.are_loose = False
        while True:
            found = self._between() if self._object is None else self._inside()
            self._is_first = False
            if found is not None:
                self.array_count += found
                return found
            self._give_up()

    # -- between documents -----------------------------------------------------------------------------

    def _between(self) -> bool | None:
        """Look at what comes next: an array (True), the end of the text (False), or anything else (None)."""
        window = self._window
        byte = window.skip(_BETWEEN)
        while byte == _MARK[:1] and window.peek(len(_MARK)) == _MARK:
            window.take(len(_MARK))
            byte = window.skip(_BETWEEN)
        if not byte:
            if not self.array_count:
                raise InputError(f"{self._stream.path}: {self._without_events()}")
            return False
        if byte == b"[" and self._is_list_of_documents():
            self._in_list = True
            window.take(1)
        elif byte == b"[" and (not self.array_count or _OF_OBJECTS.match(window.peek(1 << 10))):
            window.take(1)
            return True
        elif byte == b"{":
            self._object_offset = window.offset
            self._object, self._size, self._depth = [window.take(1)], 1, 1
            self._has_events = self._is_behind_array = False
        elif byte == b"]" and self._in_list:
            self._in_list = False
            window.take(1)
        elif self._is_first:
            start = f"starts with {window.peek(20)!r}"
            raise InputError(f"{self._stream.path}: not JSON ({start}); give a Kineto trace, .json or .json.gz")
        else:
            self._leave_out()
        return None

    def _without_events(self) -> str:
        if self._stream.fault:
            return f"no event before the damage: {self._stream.fault}; fetch the file again"
        if self._is_first and self._object is None:
            return "the file is empty; record the profile again or name another file"
        return 'JSON without "traceEvents": not a profiler trace'

    def _is_list_of_documents(self) -> bool:
        """Does the list that begins here contain arrays of events, or objects with such arrays?"""
        head = self._window.peek(1 << 20)
        opening = _LIST.match(head)
        return opening is not None and (opening[1] == b"[" or scan_object(head, opening.end(), 1)[0] == ARRAY)

    def _leave_out(self) -> None:
        """Skip to the next place where a document may begin, and count the bytes skipped."""
        window = self._window
        offset, sample, size = window.offset, window.peek(_SAMPLE_BYTES), 0
        while True:
            opening = _OPENING.search(window.text, window.start + (size == 0))
            size += len(window.take((opening.start() if opening else len(window.text)) - window.start))
            if opening or not window.fill(1):
                break
        self._left_out(offset, size, sample)

    def _left_out(self, offset: int, size: int, text: bytes) -> None:
        sample = text[: min(size, _SAMPLE_BYTES)].decode("utf-8", "replace")
        self._report.problem("not_events", size, byte_offset=offset, detail=f"byte {offset}: {sample}")

    # -- inside an object ------------------------------------------------------------------------------

    def _inside(self) -> bool | None:
        """Move on in an object: to its next array (True), past its end (None), or to the end of the text (False)."""
        window = self._window
        if self._is_behind_array and self._event_follows():
            return True
        while True:
            found, end, self._depth = scan_object(window.text, window.start, self._depth)
            self._keep(window.take(end - window.start))
            if found == ARRAY:
                self._has_events = self._is_behind_array = True
                return True
            if found == END:
                return self._close()
            if len(window) > ENVELOPE_LIMIT:
                self._keep(window.take(1))  # a quote that is never closed
            elif not window.more():
                return self._cut()

    def _event_follows(self) -> bool:
        """After an array: does another array follow, or an event that belongs into it, and not a key?"""
        window = self._window
        self._is_behind_array = False
        byte = window.skip(_WHITESPACE)
        if has_comma := byte == b",":
            window.take(1)
            byte = window.skip(_WHITESPACE)
        while byte == b"]":
            self._left_out(window.offset, 1, window.take(1))
            byte = window.skip(_WHITESPACE)
        self.are_loose = byte == b"{" and self._is_at_event()
        if byte == b"[":
            window.take(1)
        elif not self.are_loose:
            self._keep(b"]," if has_comma else b"]")
            return False
        self._is_behind_array = True
        return True

    def _is_at_event(self) -> bool:
        window = self._window
        while True:
            span = next(item_spans(window.text, window.start, len(window.text)), None)
            if span is not None:
                return has_key(window.text[slice(*span)], b'"ph"')
            if len(window) > EVENT_LIMIT or not window.more():
                return False

    def _keep(self, text: bytes) -> None:
        """Keep text of the object. If it is too large, its end is dropped, which `_parse` reports as damage."""
        self._size += len(text)
        if self._object is not None and self._size <= ENVELOPE_LIMIT:
            self._object.append(text)
        self._give_up()

    def _give_up(self) -> None:
        if not self.array_count and self._window.offset > ENVELOPE_LIMIT:
            limit = f"{ENVELOPE_LIMIT >> 20} MiB"
            raise InputError(f'{self._stream.path}: no "traceEvents" in the first {limit}: not a profiler trace')

    def _close(self) -> bool | None:
        """Handle the end of an object: it is metadata around events, an event outside any array, or neither."""
        text, self._object = b"".join(self._object or ()), None
        if self._has_events:
            self._parse(text, is_cut=False)
        elif has_key(text, b'"ph"'):
            self._window.put_back(text)
            self.are_loose = True
            return True
        else:
            self._left_out(self._object_offset, len(text), text)
        return None

    def _cut(self) -> bool:
        """Handle the end of the text inside an object."""
        if not self.array_count:
            raise InputError(f"{self._stream.path}: {self._without_events()}")
        text, self._object = b"".join(self._object or ()), None
        self._window.take(len(self._window))
        if "truncated" not in self._report.problems:  # else the array at the end has reported it
            kind = "envelope_cut" if self._has_events else "truncated"
            detail = self._stream.fault or f"no end of the object at byte {self._object_offset}"
            self._report.problem(kind, byte_offset=self._window.offset, detail=detail)
        if self._has_events:
            self._parse(text, is_cut=True)
        return False

    def _parse(self, text: bytes, is_cut: bool) -> None:
        """Add the keys of one object to `envelope`; of one that is cut or damaged, the complete keys."""
        mended = repair(text)
        where = {"byte_offset": self._object_offset}
        if mended.text_changed:
            self._report.problem("text_repaired", detail="metadata around the events", **where)
        if mended.non_finite:
            self._report.problem("non_finite", mended.non_finite, detail="metadata around the events", **where)
        pairs = ijson.sendable_list()
        parser = ijson.kvitems_coro(pairs, "", use_float=False)
        whole = shallow_length(mended.text)
        try:
            parser.send(mended.text[:whole])
            parser.close()
            is_cut = is_cut or whole < len(mended.text)
        except (ijson.JSONError, StopIteration):
            if not is_cut:
                self._report.problem("envelope_damaged", detail="metadata around the events", **where)
        for key, value in pairs:
            if key == "traceEvents":
                continue
            if self.envelope.setdefault(key, value) != value:
                self._report.problem("envelope_differs", detail=key, **where)
