"""What the host and the keeper in a container say to each other: a letter, a length and that many bytes.

The container's standard input and output carry these frames, and only the keeper holds those: a job's own streams are
pipes that end in the keeper. Capital letters go in, small letters come out.
"""

from __future__ import annotations

import struct

_HEAD = struct.Struct("!cI")
MOST_BYTES = 80 << 20  # the largest order or report there can be, and its head

# In: to the keeper.
FILE, ORDER, CELL, INTERRUPT, KILL = b"F", b"O", b"C", b"I", b"K"
# Out: from the keeper.
READY, STDOUT, STDERR, CHANNEL, ENDED, KEPT, CHUNK, TAKEN, LOST, DONE = (
    b"r", b"o", b"e", b"c", b"x", b"f", b"d", b"t", b"l", b"z",
)  # fmt: skip


class BrokenFrame(ValueError):
    """Bytes that no keeper of ours sends."""


def pack(kind: bytes, payload: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(payload)) + payload


class Reader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The frames that `chunk` makes whole."""
        self._buffer += chunk
        whole: list[tuple[bytes, bytes]] = []
        start = 0
        while len(self._buffer) - start >= _HEAD.size:
            kind, size = _HEAD.unpack_from(self._buffer, start)
            if size > MOST_BYTES:
                raise BrokenFrame(f"a frame of {size:,} bytes")
            if len(self._buffer) - start < _HEAD.size + size:
                break
            start += _HEAD.size
            whole.append((kind, bytes(self._buffer[start : start + size])))
            start += size
        del self._buffer[:start]
        return whole
