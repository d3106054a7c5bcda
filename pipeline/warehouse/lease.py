"""Leases: which process is at work in a warehouse, on which host, and whether it still is.

A lease is a folder below tmp/ that carries the name of its process and is touched while the process lives. Everything
that a process changes in the warehouse it changes by a rename out of this folder, or into it. Whoever finds a process
dead first moves its folder into an own one: should the other only have slept, all that it still tries fails.
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

# A process of another host is taken for dead when its folder was not touched for so long, by the clock of the file
# system. That is more than a client of a network file system remembers an old time for (NFS: a minute).
LEASE_SECONDS = 180
HEARTBEAT_SECONDS = 15
_NAME = re.compile(r"(\d+)-(\d+)-[0-9a-f]+@([0-9a-f]*)\.(\d*)@([^@]*)\.([0-9a-f]*)")
_DEAD_STATES = frozenset("ZXx")


@dataclass(frozen=True)
class Process:
    """Who holds a lease. Its boot and the namespace of its process ids say where the ids mean something."""

    pid: int
    start: int
    boot: str
    namespace: str
    host: str
    machine: str

    @classmethod
    def named(cls, name: str) -> Process | None:
        """The process that a lease is named after; None where the name tells none."""
        match = _NAME.fullmatch(name)
        return None if match is None else cls(int(match[1]), int(match[2]), *match.groups()[2:])

    def new_name(self) -> str:
        """A name for one more lease of this process."""
        own = f"{self.pid}-{self.start}-{uuid.uuid4().hex[:16]}"
        return f"{own}@{self.boot}.{self.namespace}@{self.host}.{self.machine}"

    def lives(self) -> bool | None:
        """Does it run? None where this process cannot tell: it is of another host, or of another container."""
        here = this_process()
        if self.boot and self.boot == here.boot:
            return _runs(self.pid, self.start) if self.namespace == here.namespace else None
        is_this_host = (self.host, self.machine) == (here.host, here.machine)
        return False if is_this_host and self.boot and here.boot and self.machine else None


def this_process() -> Process:
    """This process, also after a fork."""
    return Process(os.getpid(), _start(os.getpid()) or 0, *_here())


@contextlib.contextmanager
def lease(warehouse: Path) -> Iterator[Lease]:
    """A lease that ends with the block. Raises OSError where nothing can be written in the warehouse."""
    found = Lease(warehouse)
    try:
        yield found
    finally:
        found.end()


class Lease:
    """A folder of this process's own in a warehouse, until it ends."""

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
        """Give up the lease: the folder and all in it go."""
        self._ended.set()
        self._heart.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_folder(self) -> Path:
        """An empty folder inside."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def check(self) -> None:
        """Raise WarehouseError where others have taken this process for dead, and its folder away."""
        if not self.folder.is_dir():
            raise WarehouseError(
                f"{self.folder}: gone: this process showed no life for {LEASE_SECONDS} s (was the machine asleep, or"
                " the network down?), and another has cleared away what it had begun; ingest again"
            )

    def leases(self) -> list[str]:
        """Names of all leases in the warehouse, this one among them."""
        return [path.name for path in self._root.iterdir()]

    def is_alive(self, name: str) -> bool:
        """Is the process that holds a lease at work still?"""
        age = self._age(self._root / name)
        if age is None:
            return False
        process = Process.named(name)
        lives = None if process is None else process.lives()
        return age < LEASE_SECONDS if lives is None else lives

    def fence(self, name: str) -> None:
        """Let a lease found dead change nothing any more, by taking its folder; of several who try, one does it."""
        with contextlib.suppress(FileNotFoundError):
            self.discard(self._root / name)

    def discard(self, path: Path) -> None:
        """Take something out of the warehouse at once, then delete it. Raises FileNotFoundError where it is gone."""
        taken = self.folder / f"discarded-{next(self._numbers)}"
        path.rename(taken)
        if taken.is_dir():
            shutil.rmtree(taken, ignore_errors=True)
        else:
            taken.unlink(missing_ok=True)

    def take(self, claim: Path) -> bool:
        """Let a file say that this lease owns what it stands for; False where a living one does.

        Of all who find the same dead owner, the one succeeds who first takes the claim to its succession, in the same
        way; who comes later sees that the owner is another by then. Raises FileNotFoundError without a folder for it.
        """
        while True:
            self.check()
            try:
                self._create(claim)
                return True
            except FileExistsError:
                pass
            with contextlib.suppress(FileNotFoundError):  # released meanwhile
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
        # An owner killed before it had written its name tells when that was.
        if self.is_alive(owner) if owner else (self._age(claim) or 0) < LEASE_SECONDS:
            return False
        succession = claim.with_name(f"{claim.name}.{owner.partition('@')[0]}")
        if not self.take(succession):
            return False
        try:
            if owner:
                self.fence(owner)  # first: else it might wake, release the claim, and another take it by now
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
        """Seconds since a path was touched, by the clock of its file system; None where it is gone."""
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
            except FileNotFoundError:  # taken for dead: `check` says so where it matters
                return
            except OSError:  # a server that does not answer now may do so later
                continue


@cache
def _here() -> tuple[str, str, str, str]:
    """Boot, namespace of process ids, host and machine; empty where the system does not tell."""
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
    try:  # /proc may hide the processes of others
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not Path(f"/proc/{pid}/stat").exists()  # else it has ended, and only its parent has not asked


def _start(pid: int) -> int | None:
    """When a process started, in ticks since the boot; None where it has ended or cannot be seen."""
    try:
        # The name of the program, in parentheses, may hold any character.
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return None
    return None if state in _DEAD_STATES else int(fields[18])
