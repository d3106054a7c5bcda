"""Where things lie in a warehouse folder.

raw/<table>/run_id=<id>/part-NNNN.parquet      as extracted, never migrated
derived/<view>@<fingerprint>/run_id=<id>/…     results kept per run; a changed view has another folder
runs/<id>/manifest.json                        written last, by rename: a run exists if and only if it does
runs/<id>/writer                               whose run it is until then
tmp/<lease>/                                   what one process is at work on
warehouse.duckdb                               replaced whole by rename, opened read-only, can be deleted
seeds/*.csv                                    optional rows of the user's own that come before the seeds'
views/*.sql                                    optional views of the user's own
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
    """The places of one warehouse folder, or of a temporary one that is laid out in the same way."""

    folder: Path

    @property
    def database(self) -> Path:
        """The views over all runs."""
        return self.folder / "warehouse.duckdb"

    def raw(self, table: str, run_id: str) -> Path:
        """The partition of a raw table."""
        return self.folder / "raw" / table / f"{_RUN}{run_id}"

    def derived(self, view: str, fingerprint: str, run_id: str) -> Path:
        """The partition of a result that is kept per run."""
        return self.folder / "derived" / f"{view}@{fingerprint}" / f"{_RUN}{run_id}"

    def run(self, run_id: str) -> Path:
        """The folder of a run's manifest."""
        return self.folder / "runs" / run_id

    def manifest(self, run_id: str) -> Path:
        """What makes a run exist."""
        return self.run(run_id) / "manifest.json"

    def claim(self, run_id: str) -> Path:
        """What says who is writing a run."""
        return self.run(run_id) / "writer"

    def partitions(self) -> Iterator[Path]:
        """Partitions of all runs, committed or not, in raw tables and results."""
        for kind in ("raw", "derived"):
            yield from (self.folder / kind).glob(f"*/{_RUN}*")

    def partitions_of(self, run_id: str) -> list[Path]:
        """Partitions of one run."""
        return [path for path in self.partitions() if path.name == f"{_RUN}{run_id}"]

    def run_ids(self) -> set[str]:
        """Ids of all runs that anything lies here of."""
        named = {path.name.removeprefix(_RUN) for path in self.partitions()}
        return named | {path.name for path in (self.folder / "runs").glob("[!.]*") if path.is_dir()}


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run. Raises WarehouseError where it is unreadable or of another version."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["raw_schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseError(f"{path}: not a manifest ({error}); remove the folder and ingest the run again") from error
    if version > RAW_SCHEMA_VERSION:
        raise WarehouseError(f"{path}: written by a newer tracemill (raw schema {version}); upgrade tracemill")
    if version < RAW_SCHEMA_VERSION:
        raise WarehouseError(f"{path}: raw schema {version} is outdated; ingest {manifest.get('source_path')} again")
    return manifest
