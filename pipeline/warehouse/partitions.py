"""Writes the Parquet partitions of raw tables, in bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.schema import RAW_TABLES
from pipeline.warehouse.writer import writing

# Rows of a table are buffered up to this many bytes, then become a row group: memory does not grow with the file.
ROW_GROUP_BYTES = 32 << 20
PART_BYTES = 1 << 30


@contextlib.contextmanager
def partition_writer(folder: Path, warehouse: Path) -> Iterator[PartitionWriter]:
    """A writer whose files are finished at the end of the block, unless the block fails."""
    writer = PartitionWriter(folder, warehouse)
    try:
        yield writer
        writer.close()
    finally:
        writer.give_up()


class PartitionWriter:
    """Writes batches of one run's raw tables into `folder/<table>/part-NNNN.parquet`.

    Raises WarehouseError, which names the warehouse, if they cannot be written.
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
            raise TypeError(f"the batch for raw.{table} does not have the schema of pipeline.schema")
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
        """Leave the files as they are. Without this, a failed writer would write again when it is garbage-collected."""
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
        """The current file of a table, or the next one if that has become large."""
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
    """How columns are stored: numbers as differences, repeating text by a dictionary.

    A dictionary of args would only be built, found too large and thrown away. Text has no statistics: events of every
    category and name are mixed, so no row group could be skipped by its smallest and largest text.
    """
    numbers = [field.name for field in schema if not pa.types.is_string(field.type)]
    repeating = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "args"]
    return {
        "use_dictionary": repeating,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "write_statistics": numbers,
    }
