"""Finds what is open around each host call: one walk over the calls of all threads, with stacks for each thread.

Rows come sorted by start, then the longer first, then by place in the file. When a row starts, calls of its thread that
have ended are popped from the top of the stack. The top is then the innermost call still open, however calls overlap.
Calls and Python functions have separate stacks. Memory grows with the depth of the stacks and the number of distinct
module paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.walk.rows import batch_of, tuples

# Columns of the input rows, in order: integers, with -1 for none, and the name of a module.
ROWS = ("thread", "row_kind", "event_index", "start_ns", "end_ns", "python_id", "python_parent_id", "module_name")
# Kinds of rows. A step's marker comes before rows with the same start, and has the step as its `event_index`.
MARKER, OPERATOR, OPTIMIZER_OPERATOR, CALL, OPTIMIZER_CALL, POINT, FUNCTION, MODULE = range(8)
_OPERATORS = (OPERATOR, OPTIMIZER_OPERATOR)
_OPTIMIZERS = (OPTIMIZER_OPERATOR, OPTIMIZER_CALL)
_NONE = -1
# The most callers in a call stack.
_STACK_DEPTH = 200

_OF_CALLS = (
    "event_index",
    "parent_index",
    "inside_parent_ns",
    "covered_ns",
    "parent_operator_index",
    "operator_index",
    "top_operator_index",
    "module_index",
    "optimizer_index",
    "step",
)
_OF_MODULES = ("path", "parent_path", "parent_module_index", "start_ns", "end_ns")
SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in (*_OF_CALLS, *_OF_MODULES)),
        ("module_name", pa.string()),
        ("caller_indexes", pa.string()),
    ]
)
_NO_MODULE = (None,) * (len(_OF_MODULES) + 2)


class _Call:
    """An open host call, with what was open around it at its start."""

    __slots__ = (
        "covered", "end", "index", "inside", "inside_operator",
        "module", "operator", "optimizer", "parent", "step", "top",
    )  # fmt: skip

    def __init__(self, thread: _Thread, kind: int, index: int, start: int, end: int, step: int | None) -> None:
        self.index, self.end, self.step = index, end, step
        self.covered = 0
        self.module = thread.functions[-1].module if thread.functions else None
        self.parent = parent = thread.calls[-1] if thread.calls else None
        self.inside = self.optimizer = None
        if parent is not None:
            self.inside = (end if end < parent.end else parent.end) - start
            parent.covered += self.inside
            if (optimizer := parent.optimizer) is not None and optimizer.end > start:
                self.optimizer = optimizer
        self.inside_operator, self.top = thread.operators_at(start)
        self.operator = self.inside_operator
        if kind in _OPERATORS:
            self.operator = index
            self.top = index if self.top is None else self.top
        if self.optimizer is None and kind in _OPTIMIZERS:
            self.optimizer = self

    def row(self) -> tuple[Any, ...]:
        """The result row of the call, once all calls inside it are closed."""
        return (
            self.index,
            self.parent.index if self.parent else None,
            self.inside,
            self.covered,
            self.inside_operator,
            self.operator,
            self.top,
            self.module,
            self.optimizer.index if self.optimizer else None,
            self.step,
            *_NO_MODULE,
        )


class _Function(NamedTuple):
    """An open Python function, with the innermost module call among itself and its callers, and that module's path."""

    end: int
    python_id: int
    event: int
    module: int | None
    path: int | None
    caller: _Function | None

    def stack(self) -> str:
        """Event indexes of its callers and of itself, outermost first."""
        found, function = [self.event], self.caller
        while function is not None and len(found) <= _STACK_DEPTH:
            found.append(function.event)
            function = function.caller
        return ",".join(map(str, found[::-1]))


class _Thread:
    """What is open on a thread, outermost first. Below an open call there may be calls that have ended."""

    __slots__ = ("calls", "functions", "operators")

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.operators: deque[_Call] = deque()
        self.functions: list[_Function] = []

    def operators_at(self, start: int) -> tuple[int | None, int | None]:
        """The innermost and the outermost operator open at `start`. Ended ones at either end are dropped."""
        operators = self.operators
        while operators and operators[-1].end <= start:
            operators.pop()
        while operators and operators[0].end <= start:
            operators.popleft()
        return (operators[-1].index, operators[0].index) if operators else (None, None)

    def close(self) -> tuple[Any, ...]:
        """Pop the innermost call and return its result row."""
        return self.calls.pop().row()


class _Functions:
    """The open Python functions of all threads, by their numbers, and the module paths seen so far."""

    def __init__(self) -> None:
        self._open: dict[int, _Function] = {}
        # Functions that have just ended, or have no length, can contain nothing, but may still be recorded as callers.
        self._ended: dict[int, _Function] = {}
        self._ended_at = 0
        self._paths: dict[tuple[int | None, str], int] = {}

    def start(
        self, thread: _Thread, event: int, start: int, end: int, python_id: int, parent_id: int, name: str | None
    ) -> tuple[Any, ...] | None:
        """Open a function. For a module call, returns path, parent path, parent module, times, name and call stack.

        Only the first call of a path has a call stack.
        """
        caller = self._caller(thread.functions, python_id, parent_id, start)
        module, path = (caller.module, caller.path) if caller else (None, None)
        row = None
        if name is None:
            function = _Function(end, python_id, event, module, path, caller)
        else:
            number = len(self._paths) + 1
            own_path = self._paths.setdefault((path, name), number)
            function = _Function(end, python_id, event, event, own_path, caller)
            row = (own_path, path, module, start, end, name, function.stack() if own_path == number else None)
        if end > start:
            thread.functions.append(function)
            if python_id != _NONE:
                self._open[python_id] = function
        else:
            self._end(function, start)
        return row

    def close(self, function: _Function, time: int) -> None:
        """Close a function that has ended by `time`, the start of the next row."""
        if self._open.get(function.python_id) is function:
            del self._open[function.python_id]
        self._end(function, time)

    def _caller(self, functions: list[_Function], python_id: int, parent_id: int, start: int) -> _Function | None:
        """The recorded caller, on any thread; for functions without numbers, the innermost one open on their thread."""
        around = functions[-1] if functions else None
        if python_id == _NONE or (around is not None and around.python_id == parent_id != _NONE):
            return around
        if parent_id == _NONE:
            return None
        return self._open.get(parent_id) or (self._ended.get(parent_id) if self._ended_at == start else None)

    def _end(self, function: _Function, time: int) -> None:
        if self._ended_at != time:
            self._ended.clear()
            self._ended_at = time
        self._ended[function.python_id] = function


def walk_calls(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches of ROWS into batches of SCHEMA: one row per call, point and module call, when it is closed."""
    threads: dict[int, _Thread] = {}
    functions = _Functions()
    step_end, step = 0, None
    for batch in batches:
        done: list[tuple[Any, ...]] = []
        for number, kind, index, start, end, python_id, parent_id, name in tuples(batch, ROWS):
            if kind == MARKER:
                step_end, step = end, index
                continue
            if start >= step_end:
                step = None
            if (thread := threads.get(number)) is None:
                thread = threads[number] = _Thread()
            calls, open_functions = thread.calls, thread.functions
            while open_functions and open_functions[-1].end <= start:
                functions.close(open_functions.pop(), start)
            if kind >= FUNCTION:
                if (module := functions.start(thread, index, start, end, python_id, parent_id, name)) is not None:
                    done.append((index, *[None] * 6, index, None, step, *module))
                continue
            while calls and calls[-1].end <= start:
                done.append(thread.close())
            call = _Call(thread, kind, index, start, end, step)
            if end == start:
                done.append(call.row())
                continue
            calls.append(call)
            if kind in _OPERATORS:
                thread.operators.append(call)
        yield batch_of(done, SCHEMA)
    yield batch_of([thread.close() for thread in threads.values() for _ in range(len(thread.calls))], SCHEMA)
