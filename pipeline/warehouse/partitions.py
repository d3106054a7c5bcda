"""Parquet partitions of raw tables, written in bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.schema import RAW_TABLES
from pipeline.warehouse.writer import writing

# Rows are buffered up to this many bytes per table before they become a row group: memory does not grow with the file.
ROW_GROUP_BYTES = 32 << 20
PART_BYTES = 1 << 30


@contextlib.contextmanager
def partition_writer(folder: Path, warehouse: Path) -> Iterator[PartitionWriter]:
    """A writer whose files are finished at the end of the block, unless that fails."""
    writer = PartitionWriter(folder, warehouse)
    try:
        yield writer
        writer.close()
    finally:
        writer.give_up()


class PartitionWriter:
    """Writes batches of raw tables of one run into `folder/<table>/part-NNNN.parquet`.

    Raises WarehouseError, which names the warehouse, where they cannot be written.
    """

    def __init__(self, folder: Path, warehouse: Path) -> None:
        self.folder = folder
        self._warehouse = warehouse
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._pending: dict[str, list[pa.RecordBatch]] = {}
        self._part_numbers: dict[str, int] = {}
        self._written: dict[str, int] = {}

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Add a batch of a raw table. Its schema must be the table's."""
        if batch.schema != RAW_TABLES[table]:
            raise TypeError(f"batch for raw.{table} has another schema than pipeline.schema says")
        pending = self._pending.setdefault(table, [])
        pending.append(batch)
        if sum(part.nbytes for part in pending) >= ROW_GROUP_BYTES:
            self._flush(table)

    def close(self) -> None:
        """Write what is buffered and finish the files."""
        for table in list(self._pending):
            self._flush(table)
        with writing(self._warehouse):
            for writer in self._writers.values():
                writer.close()

    def give_up(self) -> None:
        """Leave the files as they are; unless told, one that could not be written tries again when it is collected."""
        for writer in self._writers.values():
            with contextlib.suppress(OSError):
                writer.close()
            writer.is_open = False

    def _flush(self, table: str) -> None:
        pending = self._pending.pop(table, [])
        if not pending:
            return
        data = pa.Table.from_batches(pending)
        with writing(self._warehouse):
            self._writer(table, data.schema).write_table(data)
        self._written[table] = self._written.get(table, 0) + data.nbytes

    def _writer(self, table: str, schema: pa.Schema) -> pq.ParquetWriter:
        """The file to write to: the next one where the last has become large."""
        if self._written.get(table, 0) > PART_BYTES:
            self._writers.pop(table).close()
            self._written[table] = 0
        if table not in self._writers:
            number = self._part_numbers.get(table, 0)
            self._part_numbers[table] = number + 1
            path = self.folder / table / f"part-{number:04}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writers[table] = pq.ParquetWriter(path, schema, compression="zstd", **_encodings(schema))
        return self._writers[table]


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """How columns are stored: numbers as their differences, and a dictionary where values repeat.

    One of args is tried, found too large and thrown away. The least and the greatest text of a row group are not looked
    for: events of every category and name are mixed in the file, so that nothing could be left out by them.
    """
    numbers = [field.name for field in schema if not pa.types.is_string(field.type)]
    repeating = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "args"]
    return {
        "use_dictionary": repeating,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "write_statistics": numbers,
    }
