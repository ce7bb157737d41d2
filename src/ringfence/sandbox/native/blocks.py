"""A block: the range of user ids and the group names that one sandbox owns while it lives.

The owner holds a lock on the block's file (a lock dies with its holder; a pid file does not) and notes in it what
must be swept if it dies. Whoever takes a lock that a dead owner left sweeps first.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from ringfence.base.errors import SandboxError
from ringfence.sandbox.native import cgroup

UIDS_PER_BLOCK = 1024
_MOST_BLOCKS = 4096


class Block:
    """A held block. `fd` carries the lock: a process that inherits it keeps the block held too."""

    def __init__(self, number: int, path: Path, fd: int) -> None:
        self.number, self.path, self.fd = number, path, fd
        # Never the name of an earlier owner: a late sweep after that one must not find these groups.
        self.name = f"ringfence-{number}-{secrets.token_hex(4)}"

    def note(self, groups: Sequence[Path]) -> None:
        """Write down what to sweep, before it exists."""
        text = json.dumps({"pid": os.getpid(), "groups": [str(g) for g in groups]})
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text.encode(), 0)

    def release(self) -> None:
        """Sweep what is noted, then give the block back. Several holders of one lock may each do this."""
        _sweep_noted(self.fd)
        with contextlib.suppress(FileNotFoundError):
            if _same_file(self.path, self.fd):  # or another holder has given it back, and somebody new has it
                self.path.unlink()
        os.close(self.fd)


def runtime_dir(override: Path | None, uid: int, xdg: str | None) -> Path:
    """Where the block files are: one directory per user, which nobody else may write."""
    if override is not None:
        path = override
    elif uid == 0:
        path = Path("/run/ringfence")
    else:
        path = Path(xdg) / "ringfence" if xdg and os.access(xdg, os.W_OK) else Path(f"/tmp/ringfence-{uid}")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or found.st_mode & 0o022:
        raise SandboxError(f"{path} is not a directory that only we can write: remove it, or set RINGFENCE_RUNTIME_DIR")
    return path


def take_block(folder: Path) -> Block:
    """Sweep after dead owners, then take the first free block."""
    for path in sorted(folder.glob("block-*.json")):
        left = _lock(path, create=False)
        if left is not None:
            try:
                Block(-1, path, left).release()
            except SandboxError:  # its last process is stuck in the kernel: the note stays for whoever comes next
                os.close(left)
    for number in range(_MOST_BLOCKS):
        path = folder / f"block-{number}.json"
        fd = _lock(path, create=True)
        if fd is not None:
            try:
                _sweep_noted(fd)
            except SandboxError:
                os.close(fd)
                continue
            return Block(number, path, fd)
    raise SandboxError(f"all {_MOST_BLOCKS} blocks in {folder} are held: close some sandboxes")


def _lock(path: Path, *, create: bool) -> int | None:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The holder before us may have removed the file between our open and our lock.
        if _same_file(path, fd):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def _same_file(path: Path, fd: int) -> bool:
    return os.stat(path).st_ino == os.fstat(fd).st_ino


def _sweep_noted(fd: int) -> None:
    text = os.pread(fd, 1 << 20, 0)
    cgroup.sweep(list(_noted(text)))


def _noted(text: bytes) -> Iterable[Path]:
    """The groups a note names; a note cut short by a crash names none, and none were made after it."""
    try:
        groups = [Path(group) for group in json.loads(text)["groups"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    for group in groups:
        if group.name.startswith("ringfence-") and ".." not in group.parts and "\0" not in str(group):
            yield group
