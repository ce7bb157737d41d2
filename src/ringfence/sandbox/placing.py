"""A directory of the run's own on the host, `DIR/<run_id>/`, for what a program left.

DIR is opened before the program starts and held until its files are placed, so nothing that is put in its place
meanwhile is written to. Its run's directory is made for the first file and must be new. From there on every step is
relative to an open directory and follows no link, and every file is made, never opened: nothing that has a name
already is written over. The names themselves have been judged (`names`).

A file has its name from the first byte, but can be read by its owner only until it is whole.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.errors import InputError, MountError
from ringfence.sandbox.job import Mount
from ringfence.sandbox.keeping import Copy, Keep, Unfit, in_memory, mime
from ringfence.sandbox.outcome import Artifact

_ENTER = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_DIRECTORY
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TAKEN = (errno.EEXIST, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
_NAME_REFUSED = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)


@dataclass(frozen=True, slots=True)
class Leavings:
    """What a run is known by, and how the files that it leaves are kept."""

    run_id: str
    keep: Keep


def make_run_id() -> str:
    return secrets.token_hex(8)


def leavings_in(folder: Path | None, mounts: Sequence[Mount] = ()) -> AbstractContextManager[Leavings]:
    """For one run, from before its program starts until its files are placed; in memory without a folder."""
    return nullcontext(Leavings(make_run_id(), in_memory)) if folder is None else _Place(folder, mounts)


class _Place:
    def __init__(self, folder: Path, mounts: Sequence[Mount]) -> None:
        self._folder, self._run_id = folder, make_run_id()
        self._path = folder.absolute()  # whatever becomes of the working directory meanwhile
        self._held = _open(folder)
        self._own: int | None = None
        self._placed = False
        try:
            _check_not_shared(folder, mounts)
        except BaseException:
            os.close(self._held)
            raise

    def __enter__(self) -> Leavings:
        return Leavings(self._run_id, self._keep)

    def __exit__(self, *exc: object) -> None:
        if self._own is not None:
            os.close(self._own)
            if not self._placed:
                with suppress(OSError):  # as above
                    os.rmdir(self._run_id, dir_fd=self._held)
        os.close(self._held)

    def _keep(self, name: str, size: int, copy: Copy) -> Artifact:
        try:
            digest = self._save(name, copy)
        except OSError as e:
            if e.errno in _TAKEN:
                raise Unfit("its place in the run's own directory is taken: rename it") from e
            if e.errno in _NAME_REFUSED:
                raise Unfit(f"the file system takes no such name ({e.strerror}): rename it") from e
            # What the program said and found is worth more than its files: it is not lost with them.
            raise Unfit(
                f"it cannot be written under {str(self._folder)!r} ({e.strerror}): "
                "check the directory's permissions and free space"
            ) from e
        self._placed = True
        path = str(self._folder / self._run_id / name)
        return Artifact(name=name, bytes=size, sha256=digest, mime=mime(name), path=path)

    def _save(self, name: str, copy: Copy) -> str:
        """Write the file, and the folders on its way, or leave nothing of them."""
        *folders, last = name.split("/")
        made: list[tuple[int, str]] = []
        with ExitStack() as opened:
            here = self._own_directory()
            try:
                for folder in folders:
                    with suppress(FileExistsError):  # made for an earlier file
                        os.mkdir(folder, 0o755, dir_fd=here)
                        made.append((here, folder))
                    here = os.open(folder, _ENTER, dir_fd=here)
                    opened.callback(os.close, here)
                return _write(copy, here, last)
            except BaseException:
                for parent, folder in reversed(made):
                    with suppress(OSError):  # somebody else put something there: not ours to remove
                        os.rmdir(folder, dir_fd=parent)
                raise

    def _own_directory(self) -> int:
        if self._own is None:
            if not self._is_in_place():
                raise Unfit("the artifacts directory was moved or replaced while the program ran: run it again")
            try:
                os.mkdir(self._run_id, 0o755, dir_fd=self._held)
            except FileExistsError as e:
                raise Unfit(f"its run's own directory {self._run_id} was there already: run it again") from e
            self._own = os.open(self._run_id, _ENTER, dir_fd=self._held)
        return self._own

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._path), os.fstat(self._held))
        except OSError:
            return False


def _open(folder: Path) -> int:
    if os.path.islink(folder):
        raise InputError(
            f"artifacts directory {str(folder)!r} is a symbolic link: name the directory that it leads to, "
            f"{str(folder.resolve())!r}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, _ENTER)
    except OSError as e:
        raise InputError(f"artifacts directory {str(folder)!r} cannot be made: {e.strerror}; choose another") from e
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=held):
        os.close(held)
        raise InputError(f"artifacts directory {str(folder)!r} cannot be written: choose another")
    return held


def _check_not_shared(folder: Path, mounts: Sequence[Mount]) -> None:
    """Refuse a place that the job could move away or turn into a link, under whatever name it is mounted."""
    shared = [os.stat(mount.host) for mount in mounts if mount.mode == "rw"]
    if not shared:
        return
    place = folder.resolve()
    for way in (place, *place.parents):
        if any(os.path.samestat(os.stat(way), host) for host in shared):
            raise MountError(f"artifacts_dir {str(folder)!r} is inside a writable mount: choose another place")


def _write(copy: Copy, place: int, last: str) -> str:
    out = os.open(last, _MAKE, 0o600, dir_fd=place)
    try:
        with open(out, "wb", buffering=0) as sink:
            digest = copy(lambda chunk: _write_all(sink.fileno(), chunk))
            os.fchmod(sink.fileno(), 0o644)  # never the program's own bits
    except BaseException:
        os.unlink(last, dir_fd=place)
        raise
    return digest


def _write_all(fd: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(fd, view) :]
