"""JSON text that a strict parser refuses: where one value ends, and how its text is mended.

Profilers write names without escaping them and numbers that JSON does not have. The functions here look at
the text alone; a parser has the last word on whether the result is JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
# A string, an unfinished string, or a bracket outside of strings.
_STRUCTURE = re.compile(_STRING + rb'|"|[{}\[\]]', re.DOTALL)
# A string, a comma before a closing bracket, a number that no double may hold, a word for what is no number.
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


# A parser's time and memory grow with the square of the depth; profilers nest a handful of values.
DEPTH_LIMIT = 200


def shallow_length(text: bytes) -> int:
    """Length of the text before the first bracket nested deeper than DEPTH_LIMIT; all of it where there is none."""
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
    """Can the text hold what a strict parser changes without a word: an escaped surrogate without its twin?"""
    return b"\\ud" in text or b"\\uD" in text


@dataclass(frozen=True)
class Repaired:
    """Mended JSON text; `text_changed` where a string was changed, `non_finite` numbers became null."""

    text: bytes
    text_changed: bool
    non_finite: int


def value_spans(buffer: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each complete object of an array body, in order, from `start` on.

    Stops at the first place where the next token is neither an object nor a comma; the caller looks at what
    is there: the end of the array, the end of the buffer, or damage.
    """
    depth = 0
    begin = start
    for token in _STRUCTURE.finditer(buffer, start):
        byte = buffer[token.start()]
        if depth == 0:
            if byte != 0x7B or buffer[begin : token.start()].strip(b" \t\r\n,"):
                return
            begin = token.start()
            depth = 1
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
            if depth == 0:
                yield begin, token.end()
                begin = token.end()
        elif token.end() - token.start() == 1:
            return  # a string that does not end inside the buffer


def repair(raw: bytes) -> Repaired:
    """Mend one JSON value: undecodable bytes and lone surrogates become U+FFFD, control characters and stray
    backslashes are escaped, numbers that are not finite doubles become null, a comma before a closing bracket goes."""
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
