"""The one descriptor between the jail and the host: frames of a 4-byte length and that many bytes."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("!I")
HEAD_BYTES = _LENGTH.size


def pack(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload


def length(head: bytes) -> int:
    return int(_LENGTH.unpack(head)[0])


def read_frame(fd: int) -> bytes | None:
    """The next frame, or None when the other side is gone."""
    head = _read(fd, HEAD_BYTES)
    return _read(fd, length(head)) if head is not None else None


def write_frame(fd: int, payload: bytes) -> None:
    view = memoryview(pack(payload))
    while view:
        view = view[os.write(fd, view) :]


def _read(fd: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        chunk = os.read(fd, min(size - len(parts), 1 << 20))
        if not chunk:
            return None
        parts += chunk
    return bytes(parts)
