"""PyTorch profiler (Kineto) traces: JSON in the Chrome trace event format.

This is also the reference reader: ijson parses every event, and `reference` turns it into a row of `raw.event`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import ijson
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.extract.bytestream import ByteStream, beginning
from pipeline.extract.format import Format, Role
from pipeline.extract.means import ALONE, Means
from pipeline.extract.report import Report
from pipeline.extract.trace.bulk import bulk_reader
from pipeline.extract.trace.documents import ENVELOPE_LIMIT
from pipeline.extract.trace.eventarray import EventArray, InvalidChunk
from pipeline.schema import EVENT_ARGUMENTS, ID_ARGUMENTS, RAW_TABLES

_EVENT = RAW_TABLES["event"]
_ARGUMENT_OF_KEY = {
    key: (column, rank) for column, (_, keys) in EVENT_ARGUMENTS.items() for rank, key in enumerate(keys)
}
_EMPTY = re.compile(rb'"traceEvents"\s*:\s*\[\s*\]')
_INTEGER_ARGUMENTS = frozenset(column for column, (kind, _) in EVENT_ARGUMENTS.items() if kind == pa.int64())
_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)
_INT64_DIGITS = 19
# The texts that DuckDB can cast to an integer.
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_NUMBER_TEXT = re.compile(
    r"[ \t\n\v\f\r]*(?:(?P<digits>0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[bB][01]+(?:_[01]+)*)"
    rf"|(?P<mantissa>[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS}))(?:[eE](?P<exponent>[+-]?{_DIGITS})\.?)?"
    r"[ \t\n\v\f\r]*)"
)
_EXPONENTS = range(-(1 << 15), 1 << 15)


def detect(head: bytes) -> bool:
    """Does the (decompressed) beginning of a file look like a trace, an object with events or a bare array of them?"""
    return (sign := _sign(head)) is not None and sign in head


def detect_behind(path: Path) -> bool:
    """Do events begin later in the file? In large jobs, many megabytes of metadata come before them."""
    blocks = ByteStream(path).blocks()
    head = next(blocks, b"")
    sign = _sign(head)
    if sign is None:
        return False
    read, last = len(head), head[-len(sign) :]
    for block in blocks:
        if sign in last + block:
            return True
        read += len(block)
        if read > ENVELOPE_LIMIT:
            return False
        last = (last + block)[-len(sign) :]
    return False


def is_empty(path: Path) -> bool:
    """Is it a trace whose first block has an empty event array?"""
    return _EMPTY.search(beginning(path)) is not None


def _sign(head: bytes) -> bytes | None:
    """The text that shows events in JSON that begins like this; None if it cannot be a trace."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"{": b'"traceEvents"', b"[": b'"ph"'}.get(first)


def extract(
    path: Path, report: Report, means: Means = ALONE, *, lane: str = "bulk"
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (raw table, batch) of one trace file; `report` is complete at the end.

    `lane` is `bulk`, or `reference` for the reader that the bulk lane must agree with. Raises InputError if the file
    is not a trace.
    """
    stream = ByteStream(path, means.progress)
    events = EventArray(stream, report)
    before = report.event_count
    for first, rows in events.parse_with(reference) if lane == "reference" else _in_bulk(events, means.threads):
        for batch in _numbered(rows, first).to_batches():
            yield "event", batch
    if report.event_count == before:
        report.problem("no_events", detail=path.name)
    if stream.fault and not {"truncated", "envelope_cut"} & set(report.problems):
        report.problem("truncated", detail=stream.fault)
    if stream.trailing_bytes:
        report.problem("trailing_bytes", stream.trailing_bytes)
    report.read(stream.size, stream.content_hash)
    yield from _envelope(events.envelope, report)


def _in_bulk(events: EventArray, threads: int) -> Iterator[tuple[int, pa.Table]]:
    with bulk_reader(threads) as bulk, ThreadPoolExecutor(threads) as pool:
        yield from events.parse_with(reference, bulk.parse, pool)


def _numbered(rows: pa.Table, first: int) -> pa.Table:
    """The rows, with their event indexes counted from `first`."""
    place = _EVENT.get_field_index("event_index")
    return rows.set_column(place, _EVENT.field(place), pc.add(rows.column(place), pa.scalar(first, pa.int64())))


def nanoseconds(value: Any) -> int | None:
    """Convert decimal microseconds (number or text) to whole nanoseconds without using a float.

    Fractions of a nanosecond are rounded, half away from zero. None for anything that is not a finite number.
    """
    if isinstance(value, str):
        value = _decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return _whole(Decimal(value), ROUND_HALF_UP, scale=3)


def _decimal(text: str) -> Decimal | None:
    """The number in a text, if DuckDB would read one: `0x1F`, `1_000` and ` 7 ` are numbers, too."""
    match = _NUMBER_TEXT.fullmatch(text)
    if match is None:
        return None
    if match["digits"]:
        return Decimal(int(match["digits"], 0))
    exponent = int(match["exponent"] or 0)
    return Decimal(match["mantissa"]).scaleb(exponent) if exponent in _EXPONENTS else None


def _whole(number: Decimal, rounding: str, scale: int = 0, is_id: bool = False) -> int | None:
    """The number times 10 to the power of `scale`, as an integer of 64 bits; None if it does not fit.

    An id may be unsigned; the result is then the signed integer with the same bits. The exponent is checked first,
    since the integer of a text like 1e999999999 would fill the memory.
    """
    if not number:
        return 0
    if not number.is_finite() or number.adjusted() > _INT64_DIGITS:
        return None
    integer = int(number.scaleb(scale).to_integral_value(rounding))
    if is_id and integer in _UINT64 and integer not in _INT64:
        return integer - (1 << 64)
    return integer if integer in _INT64 else None


def reference(body: bytes) -> pa.Table:
    """Rows of `raw.event` from an array body, `event_index` counted from 0. Raises InvalidChunk.

    Numbers in the text must be finite, and nesting no deeper than DEPTH_LIMIT: ijson breaks at anything else.
    """
    try:
        # The whole body is one buffer: ijson's time grows with the square of an event that is longer than its buffer.
        items = list(ijson.items(b"[" + body + b"]", "item", use_float=False, buf_size=len(body) + 2))
    except ijson.JSONError as error:
        raise InvalidChunk from error
    if not all(isinstance(event, dict) for event in items):
        raise InvalidChunk
    rows: dict[str, list[Any]] = {name: [None] * len(items) for name in _EVENT.names}
    rows["event_index"] = list(range(len(items)))
    for i, event in enumerate(items):
        rows["phase"][i] = _text(event.get("ph"))
        rows["category"][i] = _text(event.get("cat"))
        rows["name"][i] = _text(event.get("name"))
        rows["pid"][i] = _text(event.get("pid"))
        rows["tid"][i] = _text(event.get("tid"))
        rows["start_ns"][i] = nanoseconds(event.get("ts"))
        rows["duration_ns"][i] = nanoseconds(event.get("dur"))
        rows["flow_id"][i] = _text(event.get("id"))
        args = event.get("args")
        if args is None:
            continue
        rows["args"][i] = _json(args)
        if isinstance(args, dict):
            for column, value in _arguments(args).items():
                rows[column][i] = value
    return pa.Table.from_pydict(rows, schema=_EVENT)


def _arguments(args: dict[str, Any]) -> dict[str, Any]:
    """Typed columns of an event's args; of two spellings of a key the preferred one wins."""
    found: dict[str, tuple[int, Any]] = {}
    for key, value in args.items():
        known = _ARGUMENT_OF_KEY.get(key)
        if known is None:
            continue
        column, rank = known
        typed = _integer(value, column in ID_ARGUMENTS) if column in _INTEGER_ARGUMENTS else _text(value)
        if typed is not None and (column not in found or rank < found[column][0]):
            found[column] = (rank, typed)
    return {column: value for column, (_, value) in found.items()}


def _integer(value: Any, is_id: bool = False) -> int | None:
    """A number, or a text with a number, as an integer; None for anything else.

    Ids and sizes should be whole. Others are rounded as DuckDB does: a number half to even, a text half away from zero.
    """
    if isinstance(value, str):
        number = _decimal(value)
        return None if number is None else _whole(number, ROUND_HALF_UP, is_id=is_id)
    if isinstance(value, Decimal):  # DuckDB reads numbers with a point or an exponent as doubles
        return _whole(Decimal(float(value)), ROUND_HALF_EVEN, is_id=is_id)
    return _whole(Decimal(value), ROUND_HALF_EVEN, is_id=is_id) if isinstance(value, int) else None


def _text(value: Any) -> str | None:
    """Text as it is, any other value as JSON; None stays None."""
    return value if value is None or isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_number)


def _number(value: Any) -> int | float:
    """A decimal of an event's args as the nearest double. Raises InvalidChunk if that is infinite."""
    double = float(value)
    if not math.isfinite(double):
        raise InvalidChunk
    return double


def _envelope(envelope: dict[str, Any], report: Report) -> Iterator[tuple[str, pa.RecordBatch]]:
    distributed = envelope.get("distributedInfo")
    if isinstance(distributed, dict):
        report.rank = _integer(distributed.get("rank"))
        report.world_size = _integer(distributed.get("world_size"))
    report.base_time_ns = _integer(envelope.get("baseTimeNanoseconds"))
    devices = envelope.get("deviceProperties")
    if isinstance(devices, list):
        names = {str(device["name"]): None for device in devices if isinstance(device, dict) and device.get("name")}
        report.device_name = ", ".join(names) or None
    keys = list(envelope)
    values = [_json(envelope[key]) for key in keys]
    yield (
        "trace_metadata",
        pa.RecordBatch.from_pydict({"key": keys, "value": values}, schema=RAW_TABLES["trace_metadata"]),
    )


FORMAT: Format = Format(
    name="kineto",
    role=Role.TRACE,
    suffix=".json",
    detect=detect,
    extract=extract,
    names=r"trace|\.pt\.|(?:^|[._-])rank[._-]?\d|\.gz$",
    # Names of the traces that Ascend profilers write, which have the same format.
    profile_names=r"(?:trace_view|msprof(?:_slice)?)[_\d]*\.json",
    detect_behind=detect_behind,
    is_empty=is_empty,
)
