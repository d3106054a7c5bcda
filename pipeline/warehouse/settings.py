"""What DuckDB is told, whether results are derived or queries are answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# How much freed memory DuckDB keeps before it gives it back to the system.
_KEEPS = ("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold")
# DuckDB answers an asof join by comparing every pair of rows where it estimates that one side is small. Its estimates
# behind a materialised CTE are far too small.
_SORTED_ASOF = "set global asof_loop_join_threshold = 0"
# DuckDB's own bar goes to the standard output; the command line has one for reading.
_NO_BAR = "set enable_progress_bar = false"
# For each connection, before it reads views.
CONNECTION_SETTINGS = f"{_SORTED_ASOF}; {_NO_BAR}"


def database_settings(memory: str, keeps: str, spill: Path, threads: int) -> dict[str, Any]:
    """What a database is opened with: its limit of memory, what of it is kept when freed, where the rest goes,
    and how many threads it has.
    """
    return {
        "python_enable_replacements": "false",
        "memory_limit": memory,
        **dict.fromkeys(_KEEPS, keeps),
        "temp_directory": str(spill),
        "threads": threads,
    }
