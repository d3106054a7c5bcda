"""How operators and modules of two runs are matched: the user's options, as variables that the aligning views read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    import duckdb

# Operators with no more kernels than this are not worth opening; msprof-analyze has the same bound.
_MIN_KERNELS = 3


@dataclass(frozen=True)
class Matching:
    """How operators and modules are matched.

    `use_input_shape` adds input shapes to what operators are matched by. `op_name_map` maps names on both sides before
    they are matched. `max_kernel_num` opens operators with more kernels than this into those inside.
    """

    use_input_shape: bool = False
    op_name_map: Mapping[str, str] = field(default_factory=dict)
    max_kernel_num: int | None = None

    def __post_init__(self) -> None:
        """Raise UsageError if `max_kernel_num` is too small."""
        if self.max_kernel_num is not None and self.max_kernel_num <= _MIN_KERNELS:
            raise UsageError(f"--max-kernel-num must be greater than {_MIN_KERNELS}, not {self.max_kernel_num}")

    @property
    def told(self) -> dict[str, str]:
        """The options that differ from plain matching by name, for the workbook's sheet About and for the page."""
        return {name: str(value) for name, value in vars(self).items() if value}

    def apply(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Set the variables that the views read on this connection."""
        connection.execute("set variable use_input_shape = $value", {"value": self.use_input_shape})
        connection.execute("set variable op_name_map = $value", {"value": json.dumps(dict(self.op_name_map))})
        if self.max_kernel_num is not None:
            connection.execute("set variable max_kernel_num = $value", {"value": self.max_kernel_num})


def read_name_map(given: str) -> dict[str, str]:
    """The map of names in a JSON text, or in a file of JSON. Raises UsageError for anything else."""
    text = given.strip()
    if not text.startswith("{"):
        try:
            text = Path(given).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--op-name-map {given}: neither a JSON object nor a readable file ({error})") from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'--op-name-map {given}: not a JSON object such as {{"a": "b"}} ({error})') from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise UsageError(f'--op-name-map {given}: must map names to names, as in {{"a": "b"}}')
    return found
