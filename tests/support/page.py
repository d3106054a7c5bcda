"""A page as a browser sees it: elements, tables with their bands and cells, and the rows packed beside them."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Cell:
    """One cell of a table: what it shows and its attributes."""

    text: str
    attributes: dict[str, str | None]

    @property
    def exact(self) -> int | float | None:
        """The value in its title, without the unit."""
        title = self.attributes.get("title")
        if not title:
            return None
        number = title.split(" ")[0]
        return float(number) if "." in number or "e" in number else int(number)


@dataclass
class Section:
    """One table of a page: cells of the heads, of the plain rows, and what is packed."""

    bands: list[Cell] = field(default_factory=list)
    titles: list[Cell] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    packed: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The packed columns by their names, with exact values."""
        return {column["name"]: values_of(column) for column in self.packed["columns"]}


def values_of(column: dict[str, Any]) -> list[Any]:
    """The values of a packed column."""
    if "texts" not in column:
        return column["values"]
    return [None if code is None else column["texts"][code] for code in column["codes"]]


class Page(HTMLParser):
    """`facts` are the cells of the table at the top; `sections` the tables by the names of their views."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.rows, self.scripts, self.text, self.inside = [], [], [], "", None
        self.sections: dict[str, Section] = {}
        self.facts: list[list[Cell]] = []
        self._section: Section  # of the element that is read, from the first section on
        self._place = ""  # which rows are being read: facts, bands, titles, rows
        self._cell: Cell | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.inside = tag
        self.elements.append((tag, attrs))
        if tag == "section":
            self._section = self.sections[attrs["id"]] = Section()
        elif tag == "table":
            self._place = "facts" if "facts" in attrs["class"] else ""
        elif tag == "tr":
            self.rows.append([])
            self._start_row(attrs)
        elif tag == "script":
            self.scripts.append("")
        elif tag in ("td", "th"):
            if tag == "td" and self.rows:
                self.rows[-1].append("")
            self._start_cell(attrs)
        elif tag in ("nav", "main", "figure", "footer"):
            self._cell = None

    def _start_row(self, attrs):
        if self._place == "facts":
            self.facts.append([])
            return
        self._place = attrs.get("class") if attrs.get("class") in ("bands", "titles") else "rows"
        if self._place == "rows":
            self._section.rows.append([])

    def _start_cell(self, attrs):
        self._cell = Cell("", attrs)
        if self._place == "facts":
            self.facts[-1].append(self._cell)
        elif self._place == "rows":
            self._section.rows[-1].append(self._cell)
        else:
            getattr(self._section, self._place).append(self._cell)

    def handle_endtag(self, tag):
        self.inside = None
        if tag in ("table", "td", "th", "tr"):
            self._cell = None
        if tag == "script" and self.elements[-1][1].get("class") == "rows":
            self._section.packed = json.loads(gzip.decompress(base64.b64decode(self.scripts[-1])))

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data
            if self._cell is not None:
                self._cell.text += data.removesuffix("\n")
            if self.inside == "td":
                self.rows[-1][-1] += data.removesuffix("\n")

    def attributes(self, tag, name):
        """Values of an attribute in all elements of a tag."""
        return [attrs[name] for element, attrs in self.elements if element == tag and name in attrs]

    @property
    def figures(self):
        """Charts as data."""
        types = self.kinds_of_scripts
        return [json.loads(text) for kind, text in zip(types, self.scripts, strict=True) if kind == "application/json"]

    @property
    def kinds_of_scripts(self):
        """Types of the script elements; None for one that runs."""
        return [attrs.get("type") for element, attrs in self.elements if element == "script"]
