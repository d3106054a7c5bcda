"""tracemill: profiler traces in, SQL answers out.

>>> import pipeline
>>> result = pipeline.compare("base.json.gz", "new.json", output="out")
>>> result.tables["kernel_comparison"].rows      # pyarrow.Table
"""

from typing import TYPE_CHECKING, Any

from pipeline.errors import TracemillError
from pipeline.version import VERSION as __version__

if TYPE_CHECKING:
    from pipeline.api import Choice, Matching, ReadOptions, compare, ingest, query, table, views

__all__ = [
    "Choice",
    "Matching",
    "ReadOptions",
    "TracemillError",
    "__version__",
    "compare",
    "ingest",
    "query",
    "table",
    "views",
]


def __getattr__(name: str) -> Any:
    """Import the API on first use: `--help` needs neither DuckDB nor Arrow."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pipeline import api  # noqa: PLC0415

    return getattr(api, name)
