"""tracemill: profiler traces in, SQL answers out.

import pipeline
result = pipeline.compare("base.json.gz", "new.json", output="out")
result.tables["kernel_comparison"].rows      # pyarrow.Table
"""

__version__ = "0.1.0"

from pipeline.api import compare, ingest, query, table, views
from pipeline.errors import TracemillError

__all__ = ["TracemillError", "__version__", "compare", "ingest", "query", "table", "views"]
