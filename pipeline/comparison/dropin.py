"""Translates the options of msprof-analyze into ours, so that a script only changes the name of the command.

docs/drop-in.md has the same table for users; a test keeps the two in step.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence

# What each flag becomes. Options that take a value and have another name are in VALUES. All other options keep their
# names, with dashes for underscores.
FLAGS: dict[str, tuple[str, ...]] = {
    "--enable-profiling-compare": ("--only", "headline", "--only", "overall", "--only", "step"),
    "--enable-operator-compare": (
        *("--only", "operator", "--only", "operator_detail"),
        *("--only", "module", "--only", "module_detail"),
    ),
    "--enable-communication-compare": ("--only", "communication"),
    "--enable-memory-compare": ("--only", "memory", "--only", "memory_peak", "--only", "memory_detail"),
    "--enable-kernel-compare": ("--only", "kernel"),
    "--enable-api-compare": ("--only", "host_call"),
    "--disable-details": ("--no-details",),
    "--use-kernel-type": ("--skip", "kernel"),
    "--force": (),  # tracemill has no checks of size, owner or permissions to skip
}
# What flags become together with `--use-kernel-type`, which compares kernels by type, whatever their shapes.
BY_TYPE: dict[str, tuple[str, ...]] = {"--enable-kernel-compare": ("--only", "kernel_type")}
VALUES = {"--output-path": "--output"}
TARGET = ("-d", "--profiling-path")
BASE = ("-bp", "--benchmark-profiling-path")


def translated(arguments: Sequence[str]) -> list[str]:
    """The arguments of `compare` in our spelling; arguments that are ours already stay as they are."""
    done: list[str] = []
    paths: dict[str, str] = {}
    waiting = [part for argument in arguments for part in _split(argument)]
    flags = FLAGS | BY_TYPE if "--use-kernel-type" in waiting else FLAGS
    while waiting:
        name = waiting.pop(0)
        if name in TARGET or name in BASE:
            if not waiting:
                return list(arguments)  # typer's parser then reports the missing value
            paths["target" if name in TARGET else "base"] = waiting.pop(0)
        elif name in flags:
            done += flags[name]
        elif name == "--op-name-map" and waiting:
            done += [name, _json(waiting.pop(0))]
        else:
            done.append(VALUES.get(name, name))
    return [*(paths[side] for side in ("base", "target") if side in paths), *done]


def _split(argument: str) -> list[str]:
    """Split an option from the value after its `=`, and write its name with dashes."""
    if not argument.startswith("--"):
        return [argument]
    name, separator, value = argument.partition("=")
    return [name.replace("_", "-"), *([value] if separator else [])]


def _json(text: str) -> str:
    """Turn a dict as Python prints it into JSON; any other text stays as it is."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return json.dumps(found) if isinstance(found, dict) else text
