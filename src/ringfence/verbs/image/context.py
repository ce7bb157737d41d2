"""A build's context: a tar of files that belong to root, readable by all, without anything of their origin."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import IO


class Context:
    def __init__(self, raw: IO[bytes]) -> None:
        # Dereferenced: an installer may have made the files links into a store of its own.
        self._tar = tarfile.open(fileobj=raw, mode="w", dereference=True, format=tarfile.GNU_FORMAT)  # noqa: SIM115

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exc: object) -> None:
        self._tar.close()

    def add_file(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            entry = self._tar.gettarinfo(name, name, file)
            self._put(entry, file)

    def add_bytes(self, name: str, data: bytes) -> None:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self._put(entry, io.BytesIO(data))

    def _put(self, entry: tarfile.TarInfo, file: IO[bytes]) -> None:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.mode & 0o100 and entry.size else 0o644
        self._tar.addfile(entry, file)
