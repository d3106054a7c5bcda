"""Rows of a workbook's sheets as text of the file format, a batch at a time, without a step of Python per cell.

xlsxwriter takes several microseconds of Python per cell, over a minute for a million rows of twelve cells. So it makes
the workbook without rows, and `pack` inserts them while it compresses the file (ECMA-376, SpreadsheetML). Text is never
taken for a formula or a link, which are elements of their own.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias
from zipfile import ZIP64_LIMIT, ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.compute as pc
from xlsxwriter.utility import xl_col_to_name

# The longest text of a cell, in UTF-16 units.
_CELL_CHARACTERS = 32_767
# Integers beyond these lose digits in a spreadsheet's double, so they are written as text.
_MOST, _LEAST = (pa.scalar(sign << 53, pa.int64()) for sign in (1, -1))
# Characters that XML does not allow are written as _xHHHH_, and so is the underscore of text that looks like this.
_ESCAPE_LOOKALIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
# Compression level of zlib: the default, 6, takes two and a half times as long and saves a fifth.
_COMPRESSION = 3
_DIMENSION = re.compile(rb'<dimension ref="[^"]*"/>')
_STYLE = re.compile(rb'<c r="[A-Z]+[0-9]+"( s="[0-9]+")?')
# UTF-8 text.
Piece: TypeAlias = "bytes | pa.Buffer"


def numbers(values: pa.Array, divisor: int = 1) -> pa.Array:
    """Contents of number cells: values / divisor, exact up to a double's 53 bits; NULL stays NULL.

    Integers that a double cannot represent, and values that are not finite, become text.
    """
    if pa.types.is_integer(values.type) and divisor == 1:
        held = pc.and_(pc.less_equal(values, _MOST), pc.greater_equal(values, _LEAST))
        figures = values.cast(pa.string())
    else:
        doubles = pc.divide(values.cast(pa.float64(), safe=False), pa.scalar(divisor, pa.float64()))
        held = pc.is_finite(doubles)
        figures = doubles.cast(pa.string())
    found = joined("><v>", figures, "</v></c>")
    return found if pc.all(held).as_py() is not False else pc.if_else(held, found, texts(values.cast(pa.string())))


def texts(values: pa.Array) -> pa.Array:
    """Contents of text cells; each distinct text is escaped once. NULL stays NULL."""
    encoded = values.dictionary_encode()
    return pa.array(map(_text, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def flags(values: pa.Array) -> pa.Array:
    """Contents of cells that are TRUE or FALSE; NULL stays NULL."""
    return pc.if_else(values, _typed(' t="b"><v>1</v></c>'), _typed(' t="b"><v>0</v></c>'))


def joined(*parts: pa.Array | str) -> pa.Array:
    """The parts concatenated row by row; NULL if one of them is."""
    return pc.binary_join_element_wise(*(_typed(part) if isinstance(part, str) else part for part in (*parts, "")))


def rows_text(first: int, columns: Iterable[tuple[pa.Array | str, pa.Array]]) -> pa.Buffer:
    """UTF-8 text of a sheet's rows from number `first`, counted from 0; each column is given as (styles, contents)."""
    columns = list(columns)
    count = len(columns[0][1])
    row = pa.array(range(first + 1, first + count + 1), pa.int64()).cast(pa.string())
    cells = [
        pc.fill_null(joined(f'<c r="{xl_col_to_name(place)}', row, '"', style, content), "")
        for place, (style, content) in enumerate(columns)
    ]
    rows = joined('<row r="', row, '">', *cells, "</row>")
    return pc.binary_join(pa.ListArray.from_arrays([0, count], rows), _typed(""))[0].as_buffer()


@dataclass(frozen=True)
class SheetRows:
    """The rows to insert into one sheet.

    The last row of the sheet that xlsxwriter made, number `first`, has a blank cell of each style that the rows use.
    The rows replace it. `write` takes these styles, as XML attributes of cells, and yields buffers of `rows_text`.
    `last` is the (row, column) of the last cell, counted from 0; `bytes` estimates the size of the text.
    """

    first: int
    last: tuple[int, int]
    bytes: int
    write: Callable[[list[str]], Iterator[pa.Buffer]]


def pack(frame: BinaryIO, sheets: Mapping[int, SheetRows], path: Path) -> None:
    """Write the workbook `frame` to `path` with the rows of its sheets, which are numbered from 1."""
    filled = {f"xl/worksheets/sheet{number}.xml": rows for number, rows in sheets.items()}
    with ZipFile(frame) as source, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION) as target:
        for part in source.infolist():
            text = source.read(part)
            rows = filled.get(part.filename)
            # ZIP64 must be chosen before the size is known. `bytes` is an estimate, so half of the limit decides.
            is_huge = rows is not None and rows.bytes > ZIP64_LIMIT // 2
            with target.open(part.filename, "w", force_zip64=is_huge) as out:
                for piece in _ahead(_filled(text, rows)) if rows else [text]:
                    out.write(piece)


def _ahead(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces, each made while the one before is compressed: a third less time on two cores."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, pieces, None)
        while (piece := following.result()) is not None:
            following = thread.submit(next, pieces, None)
            yield piece


def _filled(sheet: bytes, rows: SheetRows) -> Iterator[Piece]:
    """The text of a sheet with its last row replaced."""
    head, _, rest = sheet.partition(b'<row r="%d"' % (rows.first + 1))
    samples, end, tail = rest.partition(b"</sheetData>")
    row, column = rows.last
    yield _DIMENSION.sub(b'<dimension ref="A1:%s%d"/>' % (xl_col_to_name(column).encode(), row + 1), head)
    yield from rows.write([style.decode() for style in _STYLE.findall(samples)])
    yield end + tail


def _typed(text: str) -> pa.Scalar:
    """A text as an Arrow scalar. If Arrow had to infer the type, it would search for modules each time."""
    return pa.scalar(text, pa.string())


def _text(text: str) -> str:
    fitting = _fitting(text)
    space = ' xml:space="preserve"' if fitting != fitting.strip() else ""
    escaped = _NOT_IN_XML.sub(
        lambda found: f"_x{ord(found.group()):04X}_",
        _ESCAPE_LOOKALIKE.sub("_x005F_", html.escape(fitting, quote=False)),
    )
    return f' t="inlineStr"><is><t{space}>{escaped}</t></is></c>'


def _fitting(text: str) -> str:
    if len(text) <= _CELL_CHARACTERS // 2:
        return text
    units = text.encode("utf-16-le")
    if len(units) <= 2 * _CELL_CHARACTERS:
        return text
    return units[: 2 * (_CELL_CHARACTERS - 1)].decode("utf-16-le", "ignore") + "…"
