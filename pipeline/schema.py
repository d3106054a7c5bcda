"""The raw tables: the contract between extractors and SQL.

Every extractor yields batches of these schemas; `staging` views read nothing else. Times are integer nanoseconds
on the clock of the trace; sizes are bytes. `run_id` is not stored in the files: it is the partition key.
A change of any schema needs a new RAW_SCHEMA_VERSION, and older partitions are then extracted again.
"""

from __future__ import annotations

import pyarrow as pa

RAW_SCHEMA_VERSION = 1

# Typed columns taken from an event's args: column -> (type, spellings of the key in order of preference). Spellings
# differ between PyTorch versions; everything else stays reachable as `args->>'key'`.
EVENT_ARGUMENTS: dict[str, tuple[pa.DataType, tuple[str, ...]]] = {
    "correlation": (pa.int64(), ("correlation",)),
    "external_id": (pa.int64(), ("External id", "external id", "External ID")),
    "device": (pa.int64(), ("device", "Device Id")),
    "stream": (pa.int64(), ("stream",)),
    "bytes": (pa.int64(), ("bytes", "Bytes")),
    "address": (pa.int64(), ("Addr",)),
    "device_type": (pa.int64(), ("Device Type",)),
    "total_allocated": (pa.int64(), ("Total Allocated",)),
    "total_reserved": (pa.int64(), ("Total Reserved",)),
    "python_id": (pa.int64(), ("Python id",)),
    "python_parent_id": (pa.int64(), ("Python parent id",)),
    "sequence_number": (pa.int64(), ("Sequence number",)),
    "forward_thread": (pa.int64(), ("Fwd thread id",)),
    "input_shapes": (pa.string(), ("Input Dims",)),
    "input_types": (pa.string(), ("Input type",)),
}

RAW_TABLES: dict[str, pa.Schema] = {
    # One row per run: what is known about it as a whole.
    "run": pa.schema(
        [
            ("label", pa.string()),
            ("source_path", pa.string()),
            ("source_format", pa.string()),
            ("source_bytes", pa.int64()),
            ("content_hash", pa.string()),
            ("rank", pa.int64()),
            ("world_size", pa.int64()),
            ("device_name", pa.string()),
            ("base_time_ns", pa.int64()),
            ("event_count", pa.int64()),
            ("ingested_at", pa.string()),
            ("tool_version", pa.string()),
        ]
    ),
    # One row per kind of trouble met while reading; `event_index` is the first event concerned.
    "problem": pa.schema(
        [
            ("kind", pa.string()),
            ("problem_count", pa.int64()),
            ("event_index", pa.int64()),
            ("detail", pa.string()),
        ]
    ),
    # One row per key of the JSON object around the events, value as JSON text.
    "trace_metadata": pa.schema([("key", pa.string()), ("value", pa.string())]),
    # One row per trace event, in file order.
    "event": pa.schema(
        [
            ("event_index", pa.int64()),
            ("phase", pa.string()),
            ("category", pa.string()),
            ("name", pa.string()),
            ("pid", pa.string()),
            ("tid", pa.string()),
            ("start_ns", pa.int64()),
            ("duration_ns", pa.int64()),
            ("flow_id", pa.string()),
            *((column, kind) for column, (kind, _) in EVENT_ARGUMENTS.items()),
            ("args", pa.string()),
        ]
    ),
}

# Troubles that were mended or set aside while reading, and what a person is told about them. A run with any of
# them is marked as salvaged; `truncated` also marks it as incomplete.
PROBLEM_KINDS: dict[str, str] = {
    "truncated": "the file ends inside the event array; complete events were kept",
    "event_dropped": "events are no valid JSON and were dropped",
    "text_repaired": "events had invalid text (bytes, escapes or control characters) repaired",
    "non_finite": "NaN or infinite values were stored as NULL",
    "trailing_bytes": "bytes after the end of the compressed data were ignored",
    "no_time": "device activities without a usable time were quarantined",
    "overlap": "activities run past a later start on their own stream (suspect, unchanged)",
}
