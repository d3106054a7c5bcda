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
        ("position", pa.int64()),
        ("last_position", pa.int64()),
        ("is_outermost", pa.bool_()),
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
    """An operator that is open, as its row in the works."""

    __slots__ = ("around", "backward", "count", "duration", "index", "module", "outermost", "position", "self_work")

    def __init__(
        self, stack: list[_Operator], position: int, index: int, forward: int, linked: int, optimizer: int
    ) -> None:
        self.position, self.index = position, index
        self.around = around = stack[-1] if stack else None
        self.backward: int = around.backward if around and linked == _NONE else linked
        if forward == _NONE and self.backward != _NONE:
            self.module: tuple[int, bool] = (self.backward, True)
        else:
            self.module = (optimizer if forward == _NONE else forward, False)
        self.outermost: int = index
        if around and self.module == stack[0].module:
            self.outermost = stack[0].index
        elif around and self.module == around.module:
            self.outermost = around.outermost

    def launched(self, count: int, duration: int) -> None:
        """Set its own device work, to which that of the operators inside is added."""
        self.self_work = self.count, self.duration = count, duration

    def close(self, last: int) -> tuple[Any, ...]:
        """Its row, once everything inside has its own; `last` is the position of the last one."""
        if self.around:
            self.around.count += self.count
            self.around.duration += self.duration
        module, is_backward = self.module
        return (
            self.index,
            self.position,
            last,
            self.around is None,
            None if module == _NONE else module,
            is_backward,
            None if self.backward == _NONE else self.backward,
            self.outermost,
            *self.self_work,
            self.count,
            self.duration,
        )


def walk_operators(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of ROWS to batches of SCHEMA: a row for each operator, when everything inside has its own.

    The module is the innermost one around. Without one, inside a backward operator, it is the module of the innermost
    operator whose forward operator was in a module; else it is the call of the optimizer. The outermost operator of an
    operator is the outermost one of all, if that is of the same module and pass; else the outermost one up to the first
    of another module or pass.
    """
    stack: list[_Operator] = []
    last = -1
    for batch in batches:
        done: list[tuple[Any, ...]] = []
        for index, parent, forward, linked, optimizer, count, duration in tuples(batch, ROWS):
            while stack and stack[-1].index != parent:
                done.append(stack.pop().close(last))
            last += 1
            operator = _Operator(stack, last, index, forward, linked, optimizer)
            operator.launched(count, duration)
            stack.append(operator)
        yield batch_of(done, SCHEMA)
    yield batch_of([stack.pop().close(last) for _ in range(len(stack))], SCHEMA)
