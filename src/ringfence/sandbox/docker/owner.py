"""Who owns a container: the process that made it, for as long as it lives.

The owner holds a lock on a file that its containers name in a label. A lock dies with its holder, so a container whose
lock nobody holds belongs to nobody, and whoever starts next removes it. Only containers of this machine are judged:
the engine may be shared with others, whose locks we cannot see.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import platform
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ringfence.sandbox.docker import forks

LABEL = "ringfence.owner"
_MACHINE, _LOCK = "ringfence.machine", "ringfence.lock"
_UIDS = 1024
_FIRST_RANGE = 1 << 23  # above the ranges of native sandboxes
_FEW_UIDS = range(20_000, 60_000)  # for an engine that maps users, which has no more than 65,536


class Owner:
    def __init__(self, folder: Path, uid_base: int) -> None:
        self.token, self._path, fd = _take_lock(folder)
        self._fd: int | None = fd
        forks.mind(self)
        self._folder, self._count = folder, itertools.count(1)
        self._first_uid = uid_base + _FIRST_RANGE + int(self.token[:4], 16) * _UIDS
        self.labels = {LABEL: self.token, _MACHINE: _machine(), _LOCK: str(self._path)}

    def new_name(self) -> str:
        return f"ringfence-{self.token}-{next(self._count)}"

    def new_uid(self, *, mapped: bool) -> int:
        number = next(self._count)
        if mapped:
            return _FEW_UIDS[(self._first_uid + number) % len(_FEW_UIDS)]
        return self._first_uid + number % _UIDS

    def is_mine(self, labels: Mapping[str, str]) -> bool:
        return labels.get(LABEL) == self.token

    def is_orphan(self, labels: Mapping[str, str]) -> bool:
        if labels.get(_MACHINE) != _machine() or labels.get(LABEL) == self.token:
            return False
        return not _is_held(Path(labels.get(_LOCK, "")))

    def sweep(self) -> None:
        """Remove the lock files of dead owners; to be called when their containers are gone."""
        for path in self._folder.glob("docker-*.lock"):
            with suppress(FileNotFoundError):  # another swept it
                if path != self._path and (fd := _try_lock(path)) is not None:
                    path.unlink()  # while it is locked: whoever has just made it sees that it is gone
                    os.close(fd)

    def release(self) -> None:
        with suppress(FileNotFoundError):
            self._path.unlink()
        self.disown()

    def disown(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _take_lock(folder: Path) -> tuple[str, Path, int]:
    while True:
        token = secrets.token_hex(8)
        path = folder / f"docker-{token}.lock"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return token, path, fd
        os.close(fd)  # another swept it before it was locked


def _is_held(path: Path) -> bool:
    try:
        fd = _try_lock(path)
    except (FileNotFoundError, IsADirectoryError):
        return False
    if fd is not None:
        os.close(fd)
    return fd is None


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


def _machine() -> str:
    """This machine's own name for itself: the same in every process, and another on every other machine."""
    known = Path("/etc/machine-id")
    return known.read_text().strip() if known.exists() else platform.node()
