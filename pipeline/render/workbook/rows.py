"""Rows of a workbook's sheets as text of the file format, a batch at a time, without a step of Python per cell.

xlsxwriter takes several microseconds of Python for a cell, over a minute for a million rows of twelve. It makes the
workbook here, all but the rows, and these are put in between while the file is packed (ECMA-376, SpreadsheetML).
Text is text whatever it looks like: a cell is a formula or a link only by an element of its own.
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

# A cell's text in UTF-16 units.
_CELL_CHARACTERS = 32_767
# Integers beyond this lose digits in a spreadsheet's double; ids of that size are written as text.
_MOST, _LEAST = (pa.scalar(sign << 53, pa.int64()) for sign in (1, -1))
# Characters that XML does not have are written _xHHHH_, and so is the underscore of text that looks like that.
_ESCAPE_LOOKALIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
# A level of zlib: the usual 6 takes two and a half times as long, for a fifth less.
_COMPRESSION = 3
_DIMENSION = re.compile(rb'<dimension ref="[^"]*"/>')
_STYLE = re.compile(rb'<c r="[A-Z]+[0-9]+"( s="[0-9]+")?')
# UTF-8 text.
Piece: TypeAlias = "bytes | pa.Buffer"


def numbers(values: pa.Array, divisor: int = 1) -> pa.Array:
    """Contents of number cells: values / divisor, exact up to a double's 53 bits; NULL has none.

    Whole numbers that a double does not hold, and what is not finite, become text.
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
    """Contents of text cells, each different text escaped once; NULL has none."""
    encoded = values.dictionary_encode()
    return pa.array(map(_text, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def flags(values: pa.Array) -> pa.Array:
    """Contents of cells that are TRUE or FALSE; NULL has none."""
    return pc.if_else(values, _typed(' t="b"><v>1</v></c>'), _typed(' t="b"><v>0</v></c>'))


def joined(*parts: pa.Array | str) -> pa.Array:
    """Parts put together row by row; NULL where one of them is."""
    return pc.binary_join_element_wise(*(_typed(part) if isinstance(part, str) else part for part in (*parts, "")))


def rows_text(first: int, columns: Iterable[tuple[pa.Array | str, pa.Array]]) -> pa.Buffer:
    """Rows of a sheet from number `first`, counted from 0: UTF-8 text of one column of (styles, contents) each."""
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
    """What one sheet is filled with.

    The last row of the sheet as xlsxwriter made it, number `first`, holds a blank cell of each style that the rows
    use; it is replaced. `write` takes these styles, as attributes of cells, and gives buffers of `rows_text`. `last`
    is (row, column) of the last cell, counted from 0; `bytes` an estimate of the text.
    """

    first: int
    last: tuple[int, int]
    bytes: int
    write: Callable[[list[str]], Iterator[pa.Buffer]]


def pack(frame: BinaryIO, sheets: Mapping[int, SheetRows], path: Path) -> None:
    """Write the workbook `frame` to `path`, filling sheets, by their place in the workbook from 1."""
    filled = {f"xl/worksheets/sheet{number}.xml": rows for number, rows in sheets.items()}
    with ZipFile(frame) as source, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION) as target:
        for part in source.infolist():
            text = source.read(part)
            rows = filled.get(part.filename)
            # Sizes of 64 bits, decided before the text is known: by half of the limit, since `bytes` is an estimate.
            is_huge = rows is not None and rows.bytes > ZIP64_LIMIT // 2
            with target.open(part.filename, "w", force_zip64=is_huge) as out:
                for piece in _ahead(_filled(text, rows)) if rows else [text]:
                    out.write(piece)


def _ahead(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces, each made while the one before is packed: a third less time on two cores."""
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
    """Text as Arrow takes it: to find out the type of a value costs it a search for modules each time."""
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
