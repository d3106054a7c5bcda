"""Makes names from traces safe for a page: they may be hostile, and as long as a whole trace."""

from __future__ import annotations

import html
import textwrap

# Longest text, in characters: mangled kernel names stay whole, a name of a megabyte does not.
TEXT_LIMIT = 2_000
# Invisible characters that would reverse the text around them (or end it, for some programs).
_UNSEEN = dict.fromkeys([0, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")


def clipped(text: str) -> str:
    """Text of bounded length without invisible control characters. The template escapes it."""
    text = text.translate(_UNSEEN)
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text):,} characters)"


def chart_text(name: str, width: int = 13) -> str:
    """A name for a chart, in lines of `width`, escaped: plotly interprets some HTML tags in text, links included."""
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(clipped(name)[:120], width)) or " "
