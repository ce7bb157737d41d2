"""Collecting the files a dead jail left.

Every name in the tree was chosen by the program and may still change under us, so nothing is reached by a
path: each step opens one name relative to a directory that is already open, follows no link, looks
before it opens (a fifo or a device must not be opened at all) and looks again at what it got. A walk
holds one descriptor per level, and depth, entries, names, files and bytes are all capped.

A file whose Stamp is in the baseline is not collected, whatever its name. The clock behind mtime may tick only every
few milliseconds, so whoever puts files in before a run should give them an mtime in the past. The names of all other
files are judged by the rule in `names`; a folder of an unfit name is refused as a whole, unless the baseline has files
in it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from ringfence.sandbox.keeping import Keep, Unfit, Write
from ringfence.sandbox.names import MOST_CHARACTERS, Names, fault, shown
from ringfence.sandbox.outcome import Artifact, RejectedArtifact

MAX_DEPTH = 32
MAX_ENTRIES = 10_000
MAX_REJECTED = 200
_CHUNK = 1 << 20
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ENTER = _LOOK | os.O_DIRECTORY
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells a file that was left alone from one that was written."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    artifacts: tuple[Artifact, ...]
    rejected: tuple[RejectedArtifact, ...]
    truncated: bool  # a cap left something out


@dataclass(frozen=True, slots=True)
class _File:
    """A regular file or a directory as seen by lstat; `folder` is open only until the walk goes on."""

    folder: int
    raw: bytes
    name: str
    seen: os.stat_result

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.seen.st_size, self.seen.st_mtime_ns, self.seen.st_ino)


class _Rejected(Exception):
    """This file or directory is left out."""

    def __init__(self, name: str, reason: str, *, capped: bool = False) -> None:
        super().__init__(reason)
        self.name, self.reason, self.capped = shown(name), reason, capped


def stamps(work_fd: int) -> Mapping[str, Stamp]:
    """The regular files under `work_fd`, to be the baseline of a later `collect`."""
    return {found.name: found.stamp for found in _walk(work_fd, lambda _: True) if isinstance(found, _File)}


def collect(
    work_fd: int,
    *,
    keep: Keep,
    baseline: Mapping[str, Stamp],
    max_count: int = 100,
    max_bytes: int = 64 << 20,
) -> Collected:
    """Take the new and changed files under `work_fd`, each as `keep` keeps it."""
    taken = _Taken(keep, max_count, max_bytes)
    known = {name[:i] for name in baseline for i, letter in enumerate(name) if letter == "/"}
    for found in _walk(work_fd, known.__contains__):
        if isinstance(found, _Rejected):
            taken.reject(found)
        elif baseline.get(found.name) != found.stamp:
            try:
                taken.take(found)
            except _Rejected as e:
                taken.reject(e)
    return Collected(
        artifacts=tuple(sorted(taken.artifacts, key=lambda a: a.name)),
        rejected=tuple(sorted(taken.rejected, key=lambda r: r.name)),
        truncated=taken.truncated,
    )


# The walk


@dataclass(frozen=True, slots=True)
class _Level:
    """One open directory of the walk and what is left to look at in it."""

    fd: int
    name: str
    names: Iterator[bytes]


def _walk(work_fd: int, is_known: Callable[[str], bool]) -> Iterator[_File | _Rejected]:
    """Every file, and what is left out. A folder that is not known is entered only if its name is fit."""
    top = os.fstat(work_fd)
    room = MAX_ENTRIES
    levels: list[_Level] = []
    goal: _File | None = _File(work_fd, b".", "", top)
    try:
        while goal is not None or levels:
            try:
                if goal is not None:
                    fd = _open(goal, _ENTER)
                    levels.append(_Level(fd, goal.name, iter(())))  # so that it is closed whatever comes next
                    names = _names(fd, room + 1)
                    levels[-1] = _Level(fd, goal.name, iter(sorted(names[:room])))
                    name, goal = goal.name or ".", None
                    over = len(names) > room
                    room -= min(room, len(names))
                    if over:
                        yield _Rejected(name, f"holds entries past the first {MAX_ENTRIES:,}", capped=True)
                level = levels[-1]
                raw = next(level.names, None)
                if raw is None:
                    os.close(levels.pop().fd)
                    continue
                found = _look(level.fd, raw, level.name, top.st_dev)
                if found is None or stat.S_ISDIR(found.seen.st_mode):
                    goal = _enterable(found, len(levels), is_known)
                else:
                    yield found
            except _Rejected as e:
                goal = None
                yield e
    finally:
        for level in levels:
            os.close(level.fd)


def _enterable(folder: _File | None, depth: int, is_known: Callable[[str], bool]) -> _File | None:
    if folder is None:
        return None
    if not is_known(folder.name) and (wrong := fault(folder.name.rpartition("/")[2])):
        raise _Rejected(folder.name, wrong)
    if depth >= MAX_DEPTH:
        raise _Rejected(folder.name, f"deeper than {MAX_DEPTH} levels", capped=True)
    return folder


def _names(fd: int, most: int) -> list[bytes]:
    with os.scandir(fd) as entries:  # lazily: there may be a million
        return [os.fsencode(entry.name) for entry in islice(entries, most)]


def _look(folder: int, raw: bytes, prefix: str, device: int) -> _File | None:
    """The file or directory of that name, None if it is a mount, which the program did not make."""
    name = (f"{prefix}/" if prefix else "") + raw.decode("utf-8", "backslashreplace")
    try:
        seen = os.stat(raw, dir_fd=folder, follow_symlinks=False)
    except OSError as e:
        raise _Rejected(name, f"cannot be looked at ({e.strerror})") from e
    kind = stat.S_IFMT(seen.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise _Rejected(name, _KINDS.get(kind, "not a regular file"))
    if not _is_text(raw):
        raise _Rejected(name, "its name is not UTF-8: rename it")
    if len(name) > MOST_CHARACTERS:
        raise _Rejected(name, f"its path is longer than {MOST_CHARACTERS} characters: shorten it")
    return _File(folder, raw, name, seen) if seen.st_dev == device else None


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _open(file: _File, flags: int) -> int:
    """Open what lstat saw, and nothing else that may have taken its place since."""
    try:
        fd = os.open(file.raw, flags, dir_fd=file.folder)
    except OSError as e:
        raise _Rejected(file.name or ".", f"cannot be opened ({e.strerror})") from e
    if _identity(os.fstat(fd)) != _identity(file.seen):
        os.close(fd)
        raise _Rejected(file.name, "changed while it was collected")
    return fd


def _identity(seen: os.stat_result) -> tuple[int, int, int]:
    return seen.st_dev, seen.st_ino, stat.S_IFMT(seen.st_mode)


# Taking a file


@dataclass(slots=True)
class _Taken:
    keep: Keep
    max_count: int
    room: int
    names: Names = field(default_factory=Names)
    artifacts: list[Artifact] = field(default_factory=list)
    rejected: list[RejectedArtifact] = field(default_factory=list)
    truncated: bool = False

    def reject(self, why: _Rejected) -> None:
        if len(self.rejected) < MAX_REJECTED:
            self.rejected.append(RejectedArtifact(why.name, why.reason))
        else:
            self.truncated = True
        self.truncated |= why.capped

    def take(self, file: _File) -> None:
        if len(self.artifacts) >= self.max_count:
            raise _Rejected(file.name, f"over the limit of {self.max_count} artifacts", capped=True)
        self.check(file, file.seen)
        if wrong := self.names.claim(file.name):
            raise _Rejected(file.name, wrong)
        fd = _open(file, _LOOK)
        try:
            before = os.fstat(fd)
            self.check(file, before)
            kept = self.keep(file.name, before.st_size, partial(_copy, fd, before, file.name))
        except Unfit as e:
            raise _Rejected(file.name, str(e)) from e
        finally:
            os.close(fd)
        self.room -= before.st_size
        self.artifacts.append(kept)

    def check(self, file: _File, seen: os.stat_result) -> None:
        if seen.st_nlink > 1:
            raise _Rejected(file.name, "a hard link")
        if seen.st_size > self.room:  # the apparent size: a sparse file costs nothing to make but all to read
            reason = f"its {seen.st_size:,} bytes do not fit in what is left of the limit ({self.room:,})"
            raise _Rejected(file.name, reason, capped=True)


def _copy(fd: int, before: os.stat_result, name: str, write: Write) -> str:
    digest = hashlib.sha256()
    left = before.st_size
    while left:
        try:
            chunk = os.read(fd, min(left, _CHUNK))
        except OSError as e:
            raise _Rejected(name, f"cannot be read ({e.strerror})") from e
        if not chunk:
            break
        digest.update(chunk)
        write(chunk)
        left -= len(chunk)
    after = os.fstat(fd)
    if left or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise _Rejected(name, "changed while it was collected")
    return digest.hexdigest()
