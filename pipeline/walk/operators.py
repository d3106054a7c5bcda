"""Modules and device work of operators: one walk with a stack over the tree of operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pipeline.walk.rows import batch_of, tuples

# Columns of the rows, in order: integers, -1 for none. Rows come in the order of the tree, parents first.
ROWS = (
    "event_index",
    "parent_operator_index",
    "module_index",
    "linked_module_index",
    "optimizer_index",
    "self_activity_count",
    "self_device_duration_ns",
)
_NONE = -1
SCHEMA = pa.schema(
    [
        ("event_index", pa.int64()),
        ("module_index", pa.int64()),
        ("is_module_backward", pa.bool_()),
        ("backward_module_index", pa.int64()),
        ("outermost_index", pa.int64()),
        ("self_activity_count", pa.int64()),
        ("self_device_duration_ns", pa.int64()),
        ("device_activity_count", pa.int64()),
        ("device_duration_ns", pa.int64()),
    ]
)


class _Operator:
    """An operator that is open."""

    __slots__ = ("backward", "count", "duration", "index", "module", "outermost", "self_count", "self_duration")

    def __init__(
        self, index: int, module: tuple[int, bool], backward: int, outermost: int | None, count: int, duration: int
    ) -> None:
        self.index, self.module, self.backward = index, module, backward
        self.outermost = index if outermost is None else outermost
        self.count = self.self_count = count
        self.duration = self.self_duration = duration

    def row(self) -> tuple[Any, ...]:
        """Its row, once everything inside of it has its own."""
        module, is_backward = self.module
        return (
            self.index,
            None if module == _NONE else module,
            is_backward,
            None if self.backward == _NONE else self.backward,
            self.outermost,
            self.self_count,
            self.self_duration,
            self.count,
            self.duration,
        )


def walk_operators(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of ROWS to batches of SCHEMA: a row for each operator, when all inside of it have theirs.

    The module is the innermost one around; else, inside a backward operator, that of the innermost one whose forward
    operator was in a module; else the call of the optimizer. The outermost operator is the outermost one of all, where
    that is of the same module and pass; else the outermost of those up to the first of another.
    """
    stack: list[_Operator] = []
    for batch in batches:
        done: list[tuple[Any, ...]] = []
        for index, parent, forward, linked, optimizer, count, duration in tuples(batch, ROWS):
            while stack and stack[-1].index != parent:
                done.append(_closed(stack))
            around = stack[-1] if stack else None
            backward = around.backward if around and linked == _NONE else linked
            if forward == _NONE and backward != _NONE:
                module = (backward, True)
            else:
                module = (optimizer if forward == _NONE else forward, False)
            outermost = None
            if around:
                if module == stack[0].module:
                    outermost = stack[0].index
                elif module == around.module:
                    outermost = around.outermost
            stack.append(_Operator(index, module, backward, outermost, count, duration))
        yield batch_of(done, SCHEMA)
    yield batch_of([_closed(stack) for _ in range(len(stack))], SCHEMA)


def _closed(stack: list[_Operator]) -> tuple[Any, ...]:
    """Take the innermost operator off the stack; its device work is also that of the one around it."""
    operator = stack.pop()
    if stack:
        stack[-1].count += operator.count
        stack[-1].duration += operator.duration
    return operator.row()
