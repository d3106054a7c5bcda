"""What operators and modules of two runs are matched by: options of a person, variables of the views that align."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import UsageError

if TYPE_CHECKING:
    import duckdb

# An operator with fewer kernels is not worth opening; msprof-analyze has the same bound.
_MIN_KERNELS = 3


@dataclass(frozen=True)
class Matching:
    """How operators are matched. `max_kernel_num` opens operators with more kernels into those inside."""

    use_input_shape: bool = False
    op_name_map: Mapping[str, str] = field(default_factory=dict)
    max_kernel_num: int | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a number of kernels that is too small."""
        if self.max_kernel_num is not None and self.max_kernel_num <= _MIN_KERNELS:
            raise UsageError(f"--max-kernel-num must be greater than {_MIN_KERNELS}, not {self.max_kernel_num}")

    @property
    def told(self) -> dict[str, str]:
        """What differs from plain matching by name, for About."""
        return {name: str(value) for name, value in vars(self).items() if value}

    def apply(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Set the variables that the views read, on this connection."""
        connection.execute("set variable use_input_shape = $value", {"value": self.use_input_shape})
        connection.execute("set variable op_name_map = $value", {"value": json.dumps(dict(self.op_name_map))})
        if self.max_kernel_num is not None:
            connection.execute("set variable max_kernel_num = $value", {"value": self.max_kernel_num})


def read_name_map(given: str) -> dict[str, str]:
    """The map of names in a JSON object, or in the file of that name. Raises UsageError for anything else."""
    text = given.strip()
    if not text.startswith("{"):
        try:
            text = Path(given).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--op-name-map {given}: neither a JSON object nor a readable file ({error})") from error
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'--op-name-map {given}: no JSON object such as {{"a": "b"}} ({error})') from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise UsageError(f"--op-name-map {given}: must map names to names")
    return found
