"""The layout of a warehouse folder.

raw/<table>/run_id=<id>/part-NNNN.parquet      raw tables, as extracted and never migrated
derived/<view>@<fingerprint>/run_id=<id>/…     results kept per run; a changed view has another folder
runs/<id>/manifest.json                        written last, by rename: a run exists if and only if this file does
runs/<id>/writer                               the claim: names the lease that writes the run
tmp/<lease>/                                   files that one process is working on
warehouse.duckdb                               views; replaced whole by rename, opened read-only, can be deleted
seeds/*.csv                                    optional: the user's own rows, which come before a seed's
views/*.sql                                    optional: the user's own views
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import WarehouseError
from pipeline.schema import RAW_SCHEMA_VERSION

_RUN = "run_id="


@dataclass(frozen=True)
class Layout:
    """The paths of a warehouse folder, or of a temporary folder with the same layout."""

    folder: Path

    @property
    def database(self) -> Path:
        """The database of views over all runs."""
        return self.folder / "warehouse.duckdb"

    def raw(self, table: str, run_id: str) -> Path:
        """The partition of a raw table, a folder."""
        return self.folder / "raw" / table / f"{_RUN}{run_id}"

    def derived(self, view: str, fingerprint: str, run_id: str) -> Path:
        """The partition of a result that is kept per run, a folder."""
        return self.folder / "derived" / f"{view}@{fingerprint}" / f"{_RUN}{run_id}"

    def run(self, run_id: str) -> Path:
        """The folder of a run's manifest and claim."""
        return self.folder / "runs" / run_id

    def manifest(self, run_id: str) -> Path:
        """The file that makes a run exist."""
        return self.run(run_id) / "manifest.json"

    def claim(self, run_id: str) -> Path:
        """The file that says who is writing a run."""
        return self.run(run_id) / "writer"

    def partitions(self) -> Iterator[Path]:
        """Partitions of all runs, committed or not: of raw tables and of results."""
        for kind in ("raw", "derived"):
            yield from (self.folder / kind).glob(f"*/{_RUN}*")

    def partitions_of(self, run_id: str) -> list[Path]:
        """Partitions of one run."""
        return [path for path in self.partitions() if path.name == f"{_RUN}{run_id}"]

    def run_ids(self) -> set[str]:
        """Ids of all runs that have any file or folder here, committed or not."""
        named = {run_id_of(path) for path in self.partitions()}
        return named | {path.name for path in (self.folder / "runs").glob("[!.]*") if path.is_dir()}


def run_id_of(partition: Path) -> str:
    """The run that a partition, a folder, belongs to."""
    return partition.name.removeprefix(_RUN)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run. Raises WarehouseError if it is invalid or of another version."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["raw_schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseError(f"{path}: not a manifest ({error}); remove its folder and ingest the run again") from error
    if version > RAW_SCHEMA_VERSION:
        raise WarehouseError(f"{path}: written by a newer tracemill (raw schema {version}); upgrade tracemill")
    if version < RAW_SCHEMA_VERSION:
        raise WarehouseError(f"{path}: raw schema {version} is outdated; ingest {manifest.get('source_path')} again")
    return manifest
