"""Lines of JSON that are on the disk before anybody is told so: what paper trading is rebuilt from after a crash.

A line ends in a newline, and only then was it acknowledged. What stands behind the last newline is a line that a crash
cut off: nobody was told of it, and it is taken away. A damaged line before that is no crash but a damaged file, and
refused: an account that is nearly right is worse than none.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ringfence.base.errors import DataError

Event = Mapping[str, object]


class Journal:
    """One process at a time: the lock goes with it, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as e:
            raise DataError(f"the journal {path} cannot be opened ({e.strerror}): choose another path") from e
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            os.close(self._fd)
            raise DataError(f"the journal {path} is in use by another process: end that one first") from e
        _sync_folder(path.parent)
        self._length = 0
        self._broken = False

    def read(self) -> Sequence[Event]:
        """Every event that was acknowledged, oldest first; takes away what a crash has cut off."""
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            whole, newline, rest = file.read().rpartition(b"\n")
        self._length = len(whole) + len(newline)
        if rest:
            os.ftruncate(self._fd, self._length)
            os.fsync(self._fd)
        return [self._parse(line, number) for number, line in enumerate(whole.splitlines(), 1)]

    def _parse(self, line: bytes, number: int) -> Event:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise DataError(f"line {number} of the journal {self._path} is damaged: restore the file from a copy")
        return event

    def append(self, event: Event) -> None:
        if self._broken:
            raise DataError(f"the journal {self._path} could not be written before: start again from what is in it")
        line = memoryview(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        size = len(line)
        try:
            while line:
                line = line[os.write(self._fd, line) :]
            os.fsync(self._fd)
        except OSError as e:
            # Whether any of it is on the disk is unknown from here on, so nothing more is promised.
            self._broken = True
            os.ftruncate(self._fd, self._length)
            raise DataError(
                f"the journal {self._path} cannot be written ({e.strerror}): make room, then start again"
            ) from e
        self._length += size

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    """A new file survives a power cut only once its folder is on the disk too."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
