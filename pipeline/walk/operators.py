"""Finds the modules and the device work of operators: one walk with a stack over the tree of operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pipeline.walk.rows import batch_of, tuples

# Columns of the input rows, in order: integers, with -1 for none. Rows come in the order of the tree, parents first.
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
    """An open operator, with the fields of its result row."""

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
        """Set its own device work, to which that of the operators inside it is added later."""
        self.self_work = self.count, self.duration = count, duration

    def close(self, last: int) -> tuple[Any, ...]:
        """Its result row, once all operators inside it are closed; `last` is the position of the last of these."""
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
    """Turn batches of ROWS into batches of SCHEMA: one row per operator, when all operators inside it are closed.

    An operator's module is the innermost one around it. Without one it is the module of the forward operator that is
    linked to it, or else to the nearest operator around it; without that, the call of the optimizer. Its outermost
    operator is the outermost one around it, if that has the same module and pass; else the outermost one of those
    directly around it that have the same module and pass.
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
