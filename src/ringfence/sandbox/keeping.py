"""Where the artifacts of a run are kept: in memory, or in a folder of the host's.

To keep a file is to be given its name, its size and a function that copies its bytes to wherever they should go. The
name has been judged already (`artifacts.safe_name`); what is in the folder has not.
"""

from __future__ import annotations

import errno
import mimetypes
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from ringfence.base.errors import SandboxError
from ringfence.sandbox.outcome import Artifact

Write = Callable[[bytes], object]
Copy = Callable[[Write], str]  # gives every byte to `write` in order, and returns the SHA-256 of them all
Keep = Callable[[str, int, Copy], Artifact]

_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}
_ENTER = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_DIRECTORY


class Unfit(Exception):
    """This file cannot be kept; the others can."""


def keep_in(folder: Path | None) -> Keep:
    return in_memory if folder is None else _InFolder(folder)


def in_memory(name: str, size: int, copy: Copy) -> Artifact:
    data = bytearray()
    digest = copy(data.extend)
    return Artifact(name=name, bytes=size, sha256=digest, mime=mime(name), data=bytes(data))


class _InFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, size: int, copy: Copy) -> Artifact:
        digest = _save(copy, name, self._folder)
        return Artifact(name=name, bytes=size, sha256=digest, mime=mime(name), path=str(self._folder / name))


def _save(copy: Copy, name: str, into: Path) -> str:
    """Write the file under `into`, through no link that is there already, complete or not at all."""
    *folders, last = name.split("/")
    try:
        into.mkdir(parents=True, exist_ok=True)
        place = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as e:
        raise SandboxError(f"artifacts directory {str(into)!r} cannot be used ({e.strerror}): choose another") from e
    try:
        for folder in folders:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755, dir_fd=place)
            inner = os.open(folder, _ENTER, dir_fd=place)
            os.close(place)
            place = inner
        return _write(copy, place, last)
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
            raise Unfit("its place in the artifacts directory is taken by a link, file or directory") from e
        raise SandboxError(
            f"artifact {name!r} cannot be written under {str(into)!r} ({e.strerror}): "
            "check the directory's permissions and free space"
        ) from e
    finally:
        os.close(place)


def _write(copy: Copy, place: int, last: str) -> str:
    part = f".ringfence-{secrets.token_hex(8)}.part"
    out = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=place)
    try:
        with open(out, "wb", buffering=0) as sink:
            digest = copy(lambda chunk: _write_all(sink.fileno(), chunk))
            os.fchmod(sink.fileno(), 0o644)  # never the program's own bits
        os.rename(part, last, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        os.unlink(part, dir_fd=place)
        raise
    return digest


def _write_all(fd: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(fd, view) :]


def mime(name: str) -> str:
    # Only the suffix: the whole name would be read as a URL, and data: URLs name any type they like.
    guessed, packing = mimetypes.guess_type("x" + PurePosixPath(name).suffix)
    if packing is not None:
        return _PACKED.get(packing, "application/octet-stream")
    return guessed or "application/octet-stream"
