"""Where a process writes: into the warehouse, under a lease, or into a temporary folder if that is read-only."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import duckdb

from pipeline.errors import WarehouseError, write_failure
from pipeline.schema import RAW_SCHEMA_VERSION, RAW_TABLES
from pipeline.warehouse.durable import publish, replace, sync
from pipeline.warehouse.layout import Layout
from pipeline.warehouse.lease import Lease, lease


class Workplace(Protocol):
    """Where results and the database are made, and where they are put in place."""

    layout: Layout

    def new_folder(self) -> Path:
        """An empty folder on the file system of `layout`."""

    def put(self, made: Path) -> None:
        """Put all partitions below a folder, which is laid out like a warehouse, in their places."""

    def put_database(self, made: Path) -> None:
        """Put a database in its place. Connections that have it open keep it."""


class Writer:
    """A process that writes to a warehouse. It owns each run that it has claimed until it commits or abandons it."""

    def __init__(self, layout: Layout, lease: Lease) -> None:
        self.layout = layout
        self._lease = lease

    def new_folder(self) -> Path:
        """A folder inside the warehouse, so that renames stay on one file system; it is removed with the lease."""
        return self._lease.new_folder()

    def claim(self, run_id: str) -> bool:
        """Reserve a run id; False if a run or a living writer has it."""
        if self.layout.manifest(run_id).exists():
            return False
        with self._writing():
            if not self._take(run_id):
                return False
            if self.layout.manifest(run_id).exists():  # another writer has committed it meanwhile
                self._release(run_id)
                return False
            self._clear(run_id)
        return True

    def place(self, run_id: str, extracted: Path) -> None:
        """Put a claimed run's raw partitions in place; no reader sees them before `commit`."""
        tables = [table for table in RAW_TABLES if (extracted / table).exists()]
        self._publish({extracted / table: self.layout.raw(table, run_id) for table in tables})

    def put(self, made: Path) -> None:
        """Put results in place, of a claimed run or of one that exists."""
        made_layout = Layout(made)
        self._publish({path: self.layout.folder / path.relative_to(made) for path in made_layout.partitions()})

    def put_database(self, made: Path) -> None:
        """Replace the database by rename."""
        with self._writing():
            replace(made, self.layout.database)

    def commit(self, run_id: str, manifest: Mapping[str, Any]) -> None:
        """Make a placed and derived run visible: its manifest appears by rename, after all other files are on disk."""
        content = {"run_id": run_id, "raw_schema_version": RAW_SCHEMA_VERSION, **manifest}
        with self._writing():
            temporary = self.new_folder() / "manifest.json"
            temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            replace(temporary, self.layout.manifest(run_id))
            sync([self.layout.folder / "runs"])
            self._release(run_id)

    def abandon(self, run_id: str) -> None:
        """Remove a claimed run that will not be committed."""
        if not self.layout.manifest(run_id).exists():
            self._clear(run_id)
        self._release(run_id)

    def sweep(self) -> None:
        """Remove what no living process and no manifest owns: the files that killed processes have left."""
        with self._writing():
            for name in self._lease.leases():
                if not self._lease.is_alive(name):
                    self._lease.fence(name)
            for run_id in sorted(self.layout.run_ids()):
                # A run has both a manifest and a claim only if its writer is about to release the claim, or died then.
                is_settled = self.layout.manifest(run_id).exists() and not self.layout.claim(run_id).exists()
                if not is_settled and self._take(run_id):
                    self.abandon(run_id)

    def _take(self, run_id: str) -> bool:
        while True:
            self.layout.run(run_id).mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # the folder was removed meanwhile by a writer that gave up
                return self._lease.take(self.layout.claim(run_id))

    def _release(self, run_id: str) -> None:
        """Release a claim, after removing the succession files that killed processes have left for it."""
        folder, claim = self.layout.run(run_id), self.layout.claim(run_id)
        for path in folder.glob(f"{claim.name}.*"):
            self._discard(path)
        self._discard(claim)
        with contextlib.suppress(OSError):  # it has a manifest, or another process has claimed the run already
            folder.rmdir()

    def _clear(self, run_id: str) -> None:
        for path in self.layout.partitions_of(run_id):
            self._discard(path)

    def _discard(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._lease.discard(path)

    def _publish(self, moves: Mapping[Path, Path]) -> None:
        with self._writing():
            publish(moves, self.layout.folder)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Like `writing`; raises WarehouseError, too, if another process has taken this one for dead."""
        self._lease.check()
        with writing(self.layout.folder):
            try:
                yield
            except FileNotFoundError:
                self._lease.check()
                raise


class Scratch:
    """A temporary folder for what is missing in a read-only warehouse."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder)

    def new_folder(self) -> Path:
        """A new folder inside it."""
        return Path(tempfile.mkdtemp(dir=self.layout.folder))

    def put(self, made: Path) -> None:
        """Move results to those that were made before."""
        for path in Layout(made).partitions():
            target = self.layout.folder / path.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)

    def put_database(self, made: Path) -> None:
        """Do nothing: the database serves only one connection, where it is."""


@contextlib.contextmanager
def writer(layout: Layout) -> Iterator[Writer]:
    """A writer of a warehouse. Raises WarehouseError if the folder cannot be written."""
    with contextlib.ExitStack() as stack:
        with writing(layout.folder):
            held = stack.enter_context(lease(layout.folder))
        yield Writer(layout, held)


@contextlib.contextmanager
def workplace(layout: Layout) -> Iterator[Workplace]:
    """A writer, or a temporary folder if the warehouse is read-only."""
    with contextlib.ExitStack() as stack:
        try:
            place: Workplace = Writer(layout, stack.enter_context(lease(layout.folder)))
        except OSError as refused:
            try:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tracemill-"))
            except OSError as error:
                raise WarehouseError(
                    f"{layout.folder}: cannot be written ({refused.strerror}), nor can any temporary folder; set TMPDIR"
                    " to one that can"
                ) from error
            place = Scratch(Path(folder).resolve())
        yield place


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the errors of writing to a full disk or a read-only folder into WarehouseError."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise WarehouseError(out_of_memory(folder, error)) from error
    except (OSError, duckdb.OperationalError, duckdb.FatalException) as error:
        raise WarehouseError(write_failure(folder, error, "choose another with -w")) from error


def out_of_memory(folder: Path, error: duckdb.OutOfMemoryException) -> str:
    """The message for DuckDB's error, which may also mean that the disk is full: queries spill what exceeds memory."""
    reason = str(error).partition("\n")[0]
    return f"{folder}: {reason}; give more memory with --memory, or free space on the disk, to which queries spill"
