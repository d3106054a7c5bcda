"""Leases: they show which processes are at work in a warehouse, on which hosts, and whether they are alive.

A lease is a folder below tmp/ that is named after its process, and that the process touches while it lives. A process
changes the warehouse only by renames out of this folder or into it. A process that finds another one dead first moves
the other's folder into its own. If the other was only asleep, everything that it still tries then fails.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import socket
import tempfile
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.errors import WarehouseError

# A process on another host is taken for dead if its folder was not touched for this long, by the file system's clock.
# That is longer than clients of network file systems cache an old time (NFS: a minute).
LEASE_SECONDS = 180
HEARTBEAT_SECONDS = 15
_NAME = re.compile(r"(\d+)-(\d+)-[0-9a-f]+@([0-9a-f]*)\.(\d*)@([^@]*)\.([0-9a-f]*)")
_DEAD_STATES = frozenset("ZXx")


@dataclass(frozen=True)
class Process:
    """The process that holds a lease. Its boot and its pid namespace say where its pid is valid."""

    pid: int
    start: int
    boot: str
    namespace: str
    host: str
    machine: str

    @classmethod
    def named(cls, name: str) -> Process | None:
        """The process that a lease is named after; None if the name is not that of a lease."""
        match = _NAME.fullmatch(name)
        return None if match is None else cls(int(match[1]), int(match[2]), *match.groups()[2:])

    def new_name(self) -> str:
        """A unique name for a lease of this process."""
        own = f"{self.pid}-{self.start}-{uuid.uuid4().hex[:16]}"
        return f"{own}@{self.boot}.{self.namespace}@{self.host}.{self.machine}"

    def lives(self) -> bool | None:
        """Is it running? None if this process cannot know: it runs on another host or in another container."""
        here = this_process()
        if self.boot and self.boot == here.boot:
            return _runs(self.pid, self.start) if self.namespace == here.namespace else None
        is_this_host = (self.host, self.machine) == (here.host, here.machine)
        return False if is_this_host and self.boot and here.boot and self.machine else None


def this_process() -> Process:
    """The current process, correct after a fork too."""
    return Process(os.getpid(), _start(os.getpid()) or 0, *_here())


@contextlib.contextmanager
def lease(warehouse: Path) -> Iterator[Lease]:
    """A lease that ends with the block. Raises OSError if the warehouse cannot be written."""
    found = Lease(warehouse)
    try:
        yield found
    finally:
        found.end()


class Lease:
    """This process's own folder in a warehouse, until `end`."""

    def __init__(self, warehouse: Path) -> None:
        self._root = warehouse / "tmp"
        self._root.mkdir(parents=True, exist_ok=True)
        self.name = this_process().new_name()
        self.folder = self._root / self.name
        self.folder.mkdir()
        self._numbers = itertools.count()
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def end(self) -> None:
        """Give up the lease and remove its folder."""
        self._ended.set()
        self._heart.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_folder(self) -> Path:
        """A new, empty folder inside it."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def check(self) -> None:
        """Raise WarehouseError if another process has taken this one for dead and its folder away."""
        if not self.folder.is_dir():
            raise WarehouseError(
                f"{self.folder} is gone: this process showed no life for {LEASE_SECONDS} s (was the machine asleep, or"
                " the network down?), so another process has removed its unfinished work; ingest again"
            )

    def leases(self) -> list[str]:
        """Names of all leases in the warehouse, this one included."""
        return [path.name for path in self._root.iterdir()]

    def is_alive(self, name: str) -> bool:
        """Is the process that holds a lease still alive?"""
        age = self._age(self._root / name)
        if age is None:
            return False
        process = Process.named(name)
        lives = None if process is None else process.lives()
        return age < LEASE_SECONDS if lives is None else lives

    def fence(self, name: str) -> None:
        """Keep a dead lease from changing anything, by taking its folder away; one of several who try succeeds."""
        with contextlib.suppress(FileNotFoundError):
            self.discard(self._root / name)

    def discard(self, path: Path) -> None:
        """Take a path out of the warehouse by one rename, then delete it. Raises FileNotFoundError if it is gone."""
        taken = self.folder / f"discarded-{next(self._numbers)}"
        path.rename(taken)
        if taken.is_dir():
            shutil.rmtree(taken, ignore_errors=True)
        else:
            taken.unlink(missing_ok=True)

    def take(self, claim: Path) -> bool:
        """Become the owner of a claim, a file that contains its owner's name; False if the owner is alive.

        If several processes find the owner dead, its successor is the first that takes a second claim, the succession,
        in the same way. The others then find a new owner. Raises FileNotFoundError if the claim's folder is missing.
        """
        while True:
            self.check()
            try:
                self._create(claim)
                return True
            except FileExistsError:
                pass
            with contextlib.suppress(FileNotFoundError):  # the owner has released it meanwhile
                return self._succeed(claim, claim.read_text(encoding="utf-8"))

    def _create(self, claim: Path) -> None:
        with claim.open("x", encoding="utf-8") as file:
            try:
                file.write(self.name)
                file.flush()
            except OSError:
                claim.unlink()
                raise

    def _succeed(self, claim: Path, owner: str) -> bool:
        # Without a name, the owner was killed before it could write one, or is about to: the claim's age decides.
        if self.is_alive(owner) if owner else (self._age(claim) or 0) < LEASE_SECONDS:
            return False
        succession = claim.with_name(f"{claim.name}.{owner.partition('@')[0]}")
        if not self.take(succession):
            return False
        try:
            if owner:
                self.fence(owner)  # first: else it might wake and release the claim, and another process might take it
            if claim.read_text(encoding="utf-8") != owner:
                return False
            own = self.folder / f"claim-{next(self._numbers)}"
            own.write_text(self.name, encoding="utf-8")
            own.replace(claim)
            return True
        finally:
            with contextlib.suppress(FileNotFoundError):  # the owner of a claim clears successions to earlier ones
                self.discard(succession)

    def _age(self, path: Path) -> float | None:
        """Seconds since a path was touched, by its file system's clock; None if it is gone."""
        try:
            touched = path.stat().st_mtime_ns
        except FileNotFoundError:
            return None
        self.check()
        os.utime(self.folder)
        return (self.folder.stat().st_mtime_ns - touched) / 1e9

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            try:
                os.utime(self.folder)
            except FileNotFoundError:  # taken for dead: `check` reports it when this process next writes
                return
            except OSError:  # a file server that does not answer now may answer later
                continue


@cache
def _here() -> tuple[str, str, str, str]:
    """Boot id, pid namespace, host name and machine id; each empty if the system does not provide it."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname(), flags=re.ASCII)[:64]
    boot = _first_hexadecimal(Path("/proc/sys/kernel/random/boot_id"))
    return boot, _namespace(), host, _first_hexadecimal(Path("/etc/machine-id"))


def _first_hexadecimal(path: Path) -> str:
    try:
        found = re.match("[0-9a-f]{8}", path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return found[0] if found else ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _runs(pid: int, start: int) -> bool:
    found = _start(pid)
    if found is not None:
        return found == start
    try:  # /proc may hide other users' processes
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not Path(f"/proc/{pid}/stat").exists()  # if it exists, the process is a zombie, which `_start` left out


def _start(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if it has ended or cannot be seen."""
    try:
        # The program's name is in parentheses and may contain any character.
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return None
    return None if state in _DEAD_STATES else int(fields[18])
