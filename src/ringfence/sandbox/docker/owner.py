"""Who owns a container: the process that made it, for as long as it lives.

The owner holds a lock on a file that its containers name in labels. A lock dies with its holder, so a container whose
lock nobody holds belongs to nobody, and whoever starts next removes it. The engine may be shared with owners in other
containers, on other machines and on copies of this one, so a lock counts only if it is the very file that the owner
holds: the same kernel (its boot id), and there the same device and inode. What cannot be compared is not ours.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringfence.sandbox.docker import forks
from ringfence.sandbox.docker.place import Place

LABEL = "ringfence.owner"
_LOCK, _FILE = "ringfence.lock", "ringfence.lock-file"
_BOOT, _MACHINE, _ROOT = "ringfence.boot", "ringfence.machine", "ringfence.root"
_UIDS = 1024
_FIRST_RANGE = 1 << 23  # above the ranges of native sandboxes
_FEW_UIDS = range(20_000, 60_000)  # for an engine that maps users, which has no more than 65,536


@dataclass(frozen=True, slots=True)
class Found:
    """A container of some owner's, as the engine lists it."""

    labels: Mapping[str, str]
    is_running: bool
    made_at: float  # seconds since the epoch, by the engine's clock


class Owner:
    def __init__(self, folder: Path, uid_base: int, place: Place | None = None) -> None:
        self.token, self._path, fd = _take_lock(folder)
        self._fd: int | None = fd
        forks.mind(self)
        self._folder, self._count = folder, itertools.count(1)
        self._first_uid = uid_base + _FIRST_RANGE + int(self.token[:4], 16) * _UIDS
        self._place = place or Place.here()
        self.labels = {
            LABEL: self.token,
            _LOCK: str(self._path),
            _FILE: _identity(os.fstat(fd)),
            _BOOT: self._place.boot,
            _MACHINE: self._place.machine,
            _ROOT: self._place.root,
        }

    def new_name(self) -> str:
        return f"ringfence-{self.token}-{next(self._count)}"

    def new_uid(self, *, mapped: bool) -> int:
        number = next(self._count)
        if mapped:
            return _FEW_UIDS[(self._first_uid + number) % len(_FEW_UIDS)]
        return self._first_uid + number % _UIDS

    def is_mine(self, labels: Mapping[str, str]) -> bool:
        return labels.get(LABEL) == self.token

    def is_orphan(self, found: Found) -> bool:
        """Whether its owner is dead for certain."""
        labels = found.labels
        boot, path = labels.get(_BOOT), labels.get(_LOCK)
        if self.is_mine(labels) or not boot or not path or not self._place.boot:
            return False
        if Path(path).name != _lock_name(labels.get(LABEL, "")):
            return False  # no owner of ours has written this
        lock = _look_at(Path(path), labels.get(_FILE, ""))
        if boot == self._place.boot:
            # A lock that is gone was let go of, but only where the owner's path means the same as ours. A container
            # ends with its owner; while it runs, somebody may have cleared the directory under a living one.
            is_gone = lock == "gone" and labels.get(_ROOT) == self._place.root and self._place.root != ""
            return lock == "free" or (is_gone and not found.is_running)
        # Of an earlier boot of this machine, if it is not of a copy that runs now: it was made before we came up.
        is_ours = labels.get(_MACHINE) == self._place.machine and self._place.machine != ""
        return is_ours and lock == "gone" and not found.is_running and found.made_at < self._place.booted_at

    def sweep(self) -> None:
        """Remove the lock files of dead owners; to be called when their containers are gone."""
        for path in self._folder.glob("docker-*.lock"):
            with suppress(FileNotFoundError):  # another swept it
                if path != self._path and (fd := _try_lock(path)) is not None:
                    path.unlink()  # while it is locked: whoever has just made it sees that it is gone
                    os.close(fd)

    def release(self, *, is_clean: bool = True) -> None:
        """Stop being an owner. While containers may be left, the file stays, and says that nobody holds it."""
        if is_clean:
            with suppress(FileNotFoundError):
                self._path.unlink()
        self.disown()

    def disown(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _lock_name(token: str) -> str:
    return f"docker-{token}.lock"


def _take_lock(folder: Path) -> tuple[str, Path, int]:
    while True:
        token = secrets.token_hex(8)
        path = folder / _lock_name(token)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return token, path, fd
        os.close(fd)  # another swept it before it was locked


def _look_at(path: Path, identity: str) -> Literal["gone", "free", "held", "another"]:
    """What became of an owner's lock; `another` is a file that only has its path, or one that we may not open."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "another"
    try:
        if _identity(os.fstat(fd)) != identity:
            return "another"
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held"
    finally:
        os.close(fd)
    return "free"


def _identity(file: os.stat_result) -> str:
    """Which file it is, among all that this kernel has; paths mean one file here and another there."""
    return f"{file.st_dev}:{file.st_ino}"


def _try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock, or None if somebody else does."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return None  # another user's: not ours to judge
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
