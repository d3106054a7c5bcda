"""tracemill: profiler traces in, SQL answers out.

>>> import pipeline
>>> result = pipeline.compare("base.json.gz", "new.json", output="out")
>>> result.tables["kernel_comparison"].rows      # pyarrow.Table
"""

from pipeline.api import compare, ingest, query, table, views
from pipeline.errors import TracemillError
from pipeline.version import VERSION as __version__

__all__ = ["TracemillError", "__version__", "compare", "ingest", "query", "table", "views"]
