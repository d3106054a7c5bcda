"""DuckDB's settings, for deriving results and for answering queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Settings for how much freed memory DuckDB keeps before it returns it to the system.
_KEEPS = ("allocator_flush_threshold", "allocator_bulk_deallocation_flush_threshold")
# If DuckDB estimates that one side of an asof join is small, it compares every pair of rows. Its estimates for the rows
# of a materialised CTE are far too small.
_SORTED_ASOF = "set global asof_loop_join_threshold = 0"
# DuckDB prints its progress bar on standard output. The command line has its own for reading files.
_NO_BAR = "set enable_progress_bar = false"
# Statements for each connection, before it reads views.
CONNECTION_SETTINGS = f"{_SORTED_ASOF}; {_NO_BAR}"


def database_settings(memory: str, keeps: str, spill: Path, threads: int) -> dict[str, Any]:
    """What to open a database with: memory limit, freed memory that it keeps, folder to spill into, and threads."""
    return {
        "python_enable_replacements": "false",
        "memory_limit": memory,
        **dict.fromkeys(_KEEPS, keeps),
        "temp_directory": str(spill),
        "threads": threads,
    }
