"""JSON text that a strict parser refuses: finds where values end, and mends them.

Profilers write names without escaping them, and numbers that JSON does not have. These functions look only at the text;
a parser decides whether the result is JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
# A string, an unfinished string, or a bracket outside of strings.
_STRUCTURE = re.compile(_STRING + rb'|"|[{}\[\]]', re.DOTALL)
# Numbers and words between commas, in an array that has them in place of objects.
_BARE_ITEMS = re.compile(rb"[ \t\r\n,]*(?:[\w.+-]+[ \t\r\n]*(?:,[ \t\r\n,]*|\Z))*")
_WORD = re.compile(rb"[\w.+-]+")
_DELIMITED = re.compile(rb"[ \t\r\n]*[,\]]")
_ENDLESS = re.compile(rb"[0-9]{309}|[0-9][eE][-+]?[0-9]{3}")
_COLON = re.compile(rb"[ \t\r\n]*:")
_EVENTS_KEY = b'"traceEvents"'
_OPENS_ARRAY = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*\[")
_MAY_OPEN = re.compile(rb"[ \t\r\n]*:?[ \t\r\n]*")
ARRAY = "array"
END = "end"
# A string, a comma before a closing bracket, a number that may exceed a double, a word for a value that is not finite.
_STRING_OR_WORD = re.compile(
    r'("[^"\\]*(?:\\.[^"\\]*)*")|(,)(?=\s*[}\]])'
    r"|(-?(?:[0-9]{309,}(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|[0-9]+(?:\.[0-9]+)?e[-+]?[0-9]{3,}))"
    r"|[-+]?\b(?:nan|inf|infinity)\b(?:\([a-z]+\))?",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_UNTIDY = re.compile(r"[\x00-\x1f\ud800-\udfff]|\\")
_CONTROL = re.compile(r"[\x00-\x1f]")
_LONE_SURROGATE = re.compile(
    r"(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<escaped>\\\\)|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


# A parser's time and memory grow with the square of the depth, and profilers nest only a few levels.
DEPTH_LIMIT = 200


def shallow_length(text: bytes) -> int:
    """Length of the text before the first bracket nested deeper than DEPTH_LIMIT; the whole length if there is none."""
    if text.count(b"[") + text.count(b"{") <= DEPTH_LIMIT:
        return len(text)
    depth = 0
    for token in _STRUCTURE.finditer(text):
        byte = text[token.start()]
        if byte in b"{[":
            depth += 1
            if depth > DEPTH_LIMIT:
                return token.start()
        elif byte in b"}]":
            depth -= 1
    return len(text)


def is_suspect(text: bytes) -> bool:
    """May the text contain something that a strict parser silently changes, or breaks at?

    These are lone escaped surrogates, endless numbers, and values that are nested too deeply.
    """
    escaped = b"\\ud" in text or b"\\uD" in text
    return escaped or _ENDLESS.search(text) is not None or shallow_length(text) < len(text)


@dataclass(frozen=True)
class Repaired:
    """Mended JSON text. `text_changed` says whether a string was changed, `non_finite` how many numbers became null."""

    text: bytes
    text_changed: bool
    non_finite: int


def item_spans(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each complete item of an array body, in order: events, and other values between commas.

    Stops at the first place without a complete item. The caller finds out what is there: the end of the array, the end
    of the text, or damage.
    """
    depth = 0
    begin = start
    for token in _STRUCTURE.finditer(text, start, end):
        byte = text[token.start()]
        if depth:
            if byte in b"{[":
                depth += 1
            elif byte in b"}]":
                depth -= 1
                if depth == 0:
                    if text[begin] == 0x5B and not _DELIMITED.match(text, token.end(), end):
                        return
                    yield begin, token.end()
                    begin = token.end()
            elif token.end() - token.start() == 1:
                return  # a string that does not end inside the text
            continue
        if not _BARE_ITEMS.fullmatch(text, begin, token.start()):
            return
        yield from ((word.start(), word.end()) for word in _WORD.finditer(text, begin, token.start()))
        begin = token.start()
        if byte in b"{[":
            depth = 1
        elif byte == 0x22 and _DELIMITED.match(text, token.end(), end):
            yield begin, token.end()
            begin = token.end()
        else:
            return


def scan_object(text: bytes, start: int, depth: int) -> tuple[str | None, int, int]:
    """Scan an object from `start`, where `depth` brackets are open.

    Returns what was found, the place after it, and the depth there. ARRAY is the opening bracket of events, END the
    object's closing brace, and None the end of the text, or of the part of it that can be understood without more text.
    """
    for token in _STRUCTURE.finditer(text, start):
        byte = text[token.start()]
        if byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
            if depth == 0:
                return END, token.end(), depth
        elif token.end() - token.start() == 1:
            return None, token.start(), depth
        elif depth == 1 and token[0] == _EVENTS_KEY:
            if opening := _OPENS_ARRAY.match(text, token.end()):
                return ARRAY, opening.end(), depth
            if _MAY_OPEN.fullmatch(text, token.end()):
                return None, token.start(), depth
    return None, len(text), depth


def has_key(text: bytes, key: bytes) -> bool:
    """Does the object in the text have the (quoted) key?"""
    if key not in text:
        return False
    depth = 0
    for token in _STRUCTURE.finditer(text):
        byte = text[token.start()]
        depth += (byte in b"{[") - (byte in b"}]")
        if depth == 1 and token[0] == key and _COLON.match(text, token.end()):
            return True
    return False


def repair(raw: bytes) -> Repaired:
    """Mend one JSON value.

    Undecodable bytes and lone surrogates become U+FFFD. Control characters and stray backslashes are escaped. Numbers
    that are not finite doubles become null. A comma before a closing bracket is removed.
    """
    text = raw.decode("utf-8", "replace")
    changed = "\ufffd" in text and "\ufffd".encode() not in raw
    non_finite = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal changed, non_finite
        string = match[1]
        if match[2]:
            return ""
        if string is None:
            value = float(match[3] or "nan")
            if value == 0:
                return "0"
            if math.isfinite(value):
                return match[0]
            non_finite += 1
            return "null"
        if not _UNTIDY.search(string):
            return string
        mended = _mend_string(string)
        changed = changed or mended != string
        return mended

    mended = _STRING_OR_WORD.sub(mend, text)
    return Repaired(mended.encode("utf-8", "replace"), changed, non_finite)


def _mend_string(string: str) -> str:
    string = _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", string)
    string = _ESCAPE.sub(lambda m: m[0] if m[1][0] in '"\\/bfnrt' or len(m[1]) == 5 else "\\\\" + m[1], string)
    return _LONE_SURROGATE.sub(lambda m: m[0] if m["pair"] or m["escaped"] else "\\ufffd", string)
