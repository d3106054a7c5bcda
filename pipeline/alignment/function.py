"""`align_trees`, the SQL function by which comparisons call by call pair their rows.

SQL cannot align in bounded time: a view collects the nodes of both trees in order, and the function returns pairs.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from pipeline.alignment.sequence import Pair
from pipeline.alignment.tree import Tree, aligned_trees

_SIDES = ("base", "comparison", "base_parent", "comparison_parent")
_FIELDS = ("place", *_SIDES, "level")
_NONE = 0
_TREE: Any = "STRUCT(node BIGINT, parent_node BIGINT, alignment_key VARCHAR, is_wrapper BOOLEAN)[]"
_ANSWER: Any = f"STRUCT({', '.join(f'{name} BIGINT' for name in _FIELDS)})[]"


def install_alignment(connection: duckdb.DuckDBPyConnection) -> None:
    """Add `align_trees(base, comparison)` to a connection.

    Each argument lists the nodes of one tree in order; NULL is a tree without nodes. A node has a number, its parent's
    number, the key by which it is paired, and a flag for wrappers, which may be looked through. A node whose parent is
    not in the list is a root. The result lists pairs of nodes in order, children after their parent; a node without a
    partner is paired with NULL. Each pair has its place (from 1), its parent pair (NULL at the root) and its level (1
    at the root).
    """
    connection.create_function(
        "align_trees",
        _align_batch,
        [_TREE, _TREE],
        _ANSWER,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _align_batch(base: pa.ChunkedArray, comparison: pa.ChunkedArray) -> pa.Array:
    offsets, parts = [0], []
    for one, other in zip(base, comparison, strict=True):
        pairs = _align(_nodes(one, base.type), _nodes(other, comparison.type))
        offsets.append(offsets[-1] + len(pairs))
        parts.append(pairs)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(parts))


def _nodes(tree: pa.ListScalar, kind: pa.ListType) -> pa.StructArray:
    return tree.values if tree.is_valid else pa.array([], kind.value_type)


def _align(base: pa.StructArray, comparison: pa.StructArray) -> pa.StructArray:
    ours, theirs = _numbered(base.field("alignment_key"), comparison.field("alignment_key"))
    columns = [array("q") for _ in (*_SIDES, "level")]
    around: list[Pair] = []
    for pair, parent in aligned_trees(_tree(base, ours), _tree(comparison, theirs)):
        while around and around[-1] != parent:
            around.pop()
        around.append(pair)
        for column, number in zip(columns, (*pair, *parent, len(around)), strict=True):
            column.append(_NONE if number is None else number)
    *places, levels = (
        pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(column)]) for column in columns
    )
    nodes = (
        tree.field("node").take(pc.if_else(pc.equal(found, _NONE), None, pc.subtract(found, 1)))
        for tree, found in zip((base, comparison) * 2, places, strict=True)
    )
    return pa.StructArray.from_arrays([pa.array(range(1, len(levels) + 1), pa.int64()), *nodes, levels], _FIELDS)


def _numbered(base: pa.Array, comparison: pa.Array) -> tuple[list[int], list[int]]:
    """Keys as numbers; equal keys have equal numbers on both sides."""
    encoded = pa.chunked_array([base, comparison]).dictionary_encode()
    numbers = [number for side in encoded.chunks for number in side.indices.to_pylist()]
    return numbers[: len(base)], numbers[len(base) :]


def _tree(nodes: pa.StructArray, keys: Sequence[int]) -> Tree:
    parents = pc.index_in(nodes.field("parent_node"), value_set=nodes.field("node"), skip_nulls=True)
    wrappers = pc.indices_nonzero(nodes.field("is_wrapper"))
    return Tree(pc.add(parents, 1).to_pylist(), keys, pc.add(wrappers, 1).to_pylist())
