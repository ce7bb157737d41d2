"""What the host and the keeper in a container say to each other: a letter, a length and that many bytes.

The container's standard input and output carry these frames, and only the keeper holds those: a job's own streams are
pipes that end in the keeper. Capital letters go in, small letters come out.
"""

from __future__ import annotations

import struct

_HEAD = struct.Struct("!cI")
MOST_BYTES = 80 << 20  # into a container: the largest order there can be
MOST_BYTES_OUT = 4 << 20  # a keeper passes on what it reads, piece by piece

# In: to the keeper.
FILE, ORDER, CELL, INTERRUPT, KILL = b"F", b"O", b"C", b"I", b"K"
# Out: from the keeper.
READY, STDOUT, STDERR, CHANNEL, ENDED, OVER, KEPT, CHUNK, TAKEN, LOST, DONE = (
    b"r", b"o", b"e", b"c", b"x", b"v", b"f", b"d", b"t", b"l", b"z",
)  # fmt: skip


class BrokenFrame(ValueError):
    """Bytes that no keeper of ours sends."""


def pack(kind: bytes, payload: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(payload)) + payload


class Reader:
    """Cuts a stream of bytes into frames."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The frames that `chunk` makes whole."""
        self._buffer += chunk
        whole: list[tuple[bytes, bytes]] = []
        start = 0
        while len(self._buffer) - start >= _HEAD.size:
            kind, size = _HEAD.unpack_from(self._buffer, start)
            if size > self._most_bytes:
                raise BrokenFrame(f"a frame of {size:,} bytes")
            if len(self._buffer) - start < _HEAD.size + size:
                break
            start += _HEAD.size
            with memoryview(self._buffer) as view:
                whole.append((kind, bytes(view[start : start + size])))
            start += size
        del self._buffer[:start]
        return whole
