"""The raw tables: the contract between extractors and SQL.

Every extractor yields batches with these schemas; `staging` views read nothing else. Times are integer nanoseconds on
the trace's clock; sizes are bytes. `run_id` is not stored in the files: it is the partition key. A change to any schema
needs a new RAW_SCHEMA_VERSION; users must then ingest older runs again.
"""

from __future__ import annotations

import pyarrow as pa

RAW_SCHEMA_VERSION = 3

# Typed columns taken from an event's args: column -> (type, spellings of the key in order of preference). Spellings
# differ between PyTorch versions and between profilers. All other arguments are available as `args->>'key'`.
EVENT_ARGUMENTS: dict[str, tuple[pa.DataType, tuple[str, ...]]] = {
    "correlation": (pa.int64(), ("correlation", "correlation_id", "correlationId")),
    "external_id": (pa.int64(), ("External id", "external id", "External ID")),
    "device": (pa.int64(), ("device", "Device Id", "deviceId")),
    "stream": (pa.int64(), ("stream", "streamId")),
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
# Ids among them. Some profilers print all 64 bits as an unsigned number. From 2^63 on, the column has the negative
# number with the same bits.
ID_ARGUMENTS = frozenset(EVENT_ARGUMENTS) - {
    "device", "bytes", "device_type", "total_allocated", "total_reserved", "input_shapes", "input_types"
}  # fmt: skip

RAW_TABLES: dict[str, pa.Schema] = {
    # One row per run: facts about the whole run.
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
    # One row per kind of problem found while reading. `event_index` is the first event concerned, `byte_offset` its
    # offset in the decompressed text (in UTF-8).
    "problem": pa.schema(
        [
            ("kind", pa.string()),
            ("problem_count", pa.int64()),
            ("event_index", pa.int64()),
            ("byte_offset", pa.int64()),
            ("detail", pa.string()),
        ]
    ),
    # One row per key of the JSON object around the events; the value is JSON text.
    "trace_metadata": pa.schema([("key", pa.string()), ("value", pa.string())]),
    # One row per trace event, in file order. `event_index` counts all events of the file, dropped ones included.
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
    # One row per task that an Ascend device ran, collectives included, with CANN's details. `event_index` continues the
    # count of the run's events.
    "kernel_detail": pa.schema(
        [
            ("event_index", pa.int64()),
            ("step", pa.int64()),
            ("device", pa.int64()),
            ("stream", pa.int64()),
            ("task_id", pa.int64()),
            ("kernel_name", pa.string()),
            ("kernel_type", pa.string()),
            ("accelerator_core", pa.string()),
            ("start_ns", pa.int64()),
            ("duration_ns", pa.int64()),
            ("wait_ns", pa.int64()),
            ("block_count", pa.int64()),
            ("input_shapes", pa.string()),
            ("input_types", pa.string()),
            ("input_formats", pa.string()),
            ("output_shapes", pa.string()),
            ("output_types", pa.string()),
            ("output_formats", pa.string()),
            ("core_ns", pa.int64()),
            ("matrix_ns", pa.int64()),
            ("vector_ns", pa.int64()),
            ("args", pa.string()),
        ]
    ),
    # One row per allocation of device memory, with its release. Totals are the allocator's.
    "allocation": pa.schema(
        [
            ("event_index", pa.int64()),
            ("operator_name", pa.string()),
            ("bytes", pa.int64()),
            ("allocated_at_ns", pa.int64()),
            ("released_at_ns", pa.int64()),
            ("held_ns", pa.int64()),
            ("total_allocated", pa.int64()),
            ("total_reserved", pa.int64()),
            ("stream", pa.int64()),
            ("device", pa.int64()),
            ("args", pa.string()),
        ]
    ),
    # One row per sample of the device memory that a software component holds.
    "memory_sample": pa.schema(
        [
            ("event_index", pa.int64()),
            ("component", pa.string()),
            ("time_ns", pa.int64()),
            ("total_allocated", pa.int64()),
            ("total_reserved", pa.int64()),
            ("device", pa.int64()),
            ("args", pa.string()),
        ]
    ),
    # One row per row of a summary table that the profiler wrote. `source` names the table (op_statistic, api_statistic,
    # communication_statistic, operator_details, step_trace, step_trace_time). These rows are kept to check figures
    # computed from events; other columns are in `args`.
    "statistic": pa.schema(
        [
            ("event_index", pa.int64()),
            ("source", pa.string()),
            ("step", pa.int64()),
            ("name", pa.string()),
            ("category", pa.string()),
            ("call_count", pa.int64()),
            ("total_ns", pa.int64()),
            ("average_ns", pa.int64()),
            ("min_ns", pa.int64()),
            ("max_ns", pa.int64()),
            ("args", pa.string()),
        ]
    ),
    # One row per collective, or per link between two ranks, from CANN's communication analysis: its times, then the
    # size and time of its transfers over one transport (RDMA, SDMA, HCCS, …).
    "communication": pa.schema(
        [
            ("event_index", pa.int64()),
            ("source", pa.string()),
            ("step", pa.string()),
            ("kind", pa.string()),
            ("name", pa.string()),
            ("process_group", pa.string()),
            ("start_ns", pa.int64()),
            ("elapsed_ns", pa.int64()),
            ("transit_ns", pa.int64()),
            ("wait_ns", pa.int64()),
            ("synchronization_ns", pa.int64()),
            ("idle_ns", pa.int64()),
            ("transport", pa.string()),
            ("source_rank", pa.int64()),
            ("target_rank", pa.int64()),
            ("bytes", pa.int64()),
            ("args", pa.string()),
        ]
    ),
}

# Kinds of problem in a run's data, with the text that users read. The text follows a count ("3 × …").
PROBLEM_KINDS: dict[str, str] = {
    "truncated": "the file ends inside the event array; complete events were kept",
    "envelope_cut": "the file ends inside the metadata around the events; the keys before that place were kept",
    "event_dropped": "events are not valid JSON objects and were dropped",
    "no_events": "traces contain no events",
    "events_behind": "events come after the end of the first event array; they were read, too",
    "not_events": "bytes are neither events nor the metadata around them and were left out",
    "envelope_damaged": "the metadata around the events is damaged; the keys before that place were kept",
    "envelope_differs": "metadata keys have different values in the documents of the file; the first value was kept",
    "text_repaired": "events had invalid text (bytes, escapes or control characters), which was repaired",
    "empty_file": "files of the profile are empty",
    "unreadable_file": "files of the profile are damaged, or not what their names say",
    "empty_table": "tables of the profile have a header but no rows",
    "missing_table": "files that such a profile should have are missing",
    "row_dropped": "rows of a table do not have as many columns as its header and were dropped",
    "non_finite": "NaN or infinite values were stored as NULL",
    "trailing_bytes": "bytes after the end of the compressed data were ignored",
    "no_time": "device activities without a usable time were quarantined",
    "untimed_call": "host calls without a usable time were left out",
    "unpaired": "begin events without an end, or end events without a begin, were left out",
    "not_understood": "events are not understood and count in no figure (seeds/event_category.csv, seeds/track.csv)",
    "overlap_analysis": "figures of the profiler's Overlap Analysis, which are shown, disagree with the activities",
    "flow_category": "the category given with --gpu-flow-cat links no device activity that lacks a launch",
    "collective_size": "collectives have input and output sizes that contradict each other or the number of ranks",
    "overlap": "activities run past a later start on their own stream (suspect, unchanged)",
}
# Kinds that are reported with every detail, each on a line of its own; of other kinds, only the first detail is shown.
TOLD_APART = frozenset({"empty_file", "missing_table", "not_understood", "unpaired", "unreadable_file"})
