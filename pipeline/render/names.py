"""Text from traces as a page shows it: names are hostile, and may be as long as a trace."""

from __future__ import annotations

import html
import textwrap

# Characters of one text: mangled kernel names stay whole, a name of a megabyte does not.
TEXT_LIMIT = 2_000
# Characters that would turn the text around them (or end it, for some readers) without being seen.
_UNSEEN = dict.fromkeys([0, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")


def clipped(text: str) -> str:
    """Text whose length is bounded and whose characters are all seen; escaping it is left to the template."""
    text = text.translate(_UNSEEN)
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text):,} characters)"


def chart_text(name: str, width: int = 13) -> str:
    """A name for a chart, in lines of `width`; plotly takes its own small set of tags, links among them, from text."""
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(clipped(name)[:120], width)) or " "
