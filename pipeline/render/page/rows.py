"""All rows of a page's tables, packed: columns of exact values as JSON, compressed, in base64.

`templates/rows.js` reads them. Each distinct text is stored once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from isal import igzip

from pipeline.catalog.header import Column
from pipeline.comparison.result import ResultTable
from pipeline.render import units
from pipeline.render.headline import indented
from pipeline.render.marks import marks
from pipeline.render.names import clipped
from pipeline.render.page.cells import EXACT_UNITS, TEXT_TYPES, largest_difference, text_style

# Rows per table: the first of these limits that keeps the packed rows of all tables below PACKED_BYTES.
ROW_LIMITS = (200_000, 100_000, 50_000, 20_000, 5_000, 1_000, 100, 0)
PACKED_BYTES = 16_000_000
# JavaScript's numbers are exact up to this; larger integers are passed as text.
_LARGEST_INTEGER = 1 << 53


@dataclass(frozen=True)
class PackedRows:
    """The first `count` rows of a table; `text` is base64 of gzip of JSON."""

    text: str
    count: int


def ranked(table: ResultTable) -> pa.Table:
    """The rows: if they rank by a difference, by its size in either direction, largest first; else in view order."""
    if table.rank is None:
        return table.rows
    sizes = pc.abs(table.rows[table.rank.name])
    return table.rows.take(pc.sort_indices(sizes, sort_keys=[("", "descending")]))


def packed(tables: Mapping[str, ResultTable], columns: Mapping[str, Sequence[Column]]) -> dict[str, PackedRows]:
    """Pack the given columns of each table, by its name, with as many rows as fit."""
    found: dict[str, PackedRows] = {}
    for limit in ROW_LIMITS:
        for name, table in tables.items():
            if name not in found or found[name].count > limit:
                found[name] = _packed(table, columns[name], limit)
        if sum(len(rows.text) for rows in found.values()) < PACKED_BYTES:
            break
    return found


def _packed(table: ResultTable, columns: Sequence[Column], limit: int) -> PackedRows:
    rows = _batch(table.rows.slice(0, limit))
    depth, named = indented(table.view) or (None, None)
    content: dict[str, Any] = {
        "count": len(rows),
        "depths": rows[depth.name].to_pylist() if depth else None,
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "side": units.prefix(column),
                "unit": EXACT_UNITS.get(column.type, ""),
                "largest": largest_difference(table, column),
                **_values(rows, column, is_tree=column is named),
            }
            for column in columns
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return PackedRows(base64.b64encode(igzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode(), len(rows))


def _batch(rows: pa.Table) -> pa.RecordBatch:
    whole = rows.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], rows.schema)


def _values(rows: pa.RecordBatch, column: Column, is_tree: bool) -> dict[str, Any]:
    values = rows[column.name]
    if column.type in TEXT_TYPES:
        encoded = values.dictionary_encode()
        texts = [clipped(units.text(text, column)) for text in encoded.dictionary.to_pylist()]
        return {"style": text_style(column, is_tree), "texts": texts, "codes": encoded.indices.to_pylist()}
    is_number = not pa.types.is_string(values.type)
    found: list[Any] = values.to_pylist()
    if not is_number:
        found = [text and clipped(text) for text in found]
    elif not pc.all(_are_numbers(values)).as_py():
        found = [
            value if held else str(value) for value, held in zip(found, _are_numbers(values).to_pylist(), strict=True)
        ]
    if units.prefix(column) == "ratio":
        found = [
            mark if value is None else value for value, mark in zip(found, marks(rows, column).to_pylist(), strict=True)
        ]
    return {"style": "", "isNumber": is_number, "values": found}


def _are_numbers(values: pa.Array) -> pa.Array:
    """Which values JSON and JavaScript can represent exactly; NULL is one of them."""
    if pa.types.is_integer(values.type):
        held = pc.and_(pc.less_equal(values, _LARGEST_INTEGER), pc.greater_equal(values, -_LARGEST_INTEGER))
    else:
        held = pc.is_finite(values)
    return pc.fill_null(held, True)
