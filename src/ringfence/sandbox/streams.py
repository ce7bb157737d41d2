"""One output stream of a program, as it is heard."""

from __future__ import annotations

import array
import fcntl
import os
import termios

from ringfence.sandbox import OnOutput, Stream

_F_GETPIPE_SZ = 1032
_FLOOD = 256  # a program that writes this many times its cap is stopped: draining it costs the host CPU


def is_flood(seen: int, cap: int) -> bool:
    return seen > _FLOOD * max(cap, 1 << 16)


def most_reads(pipe: int) -> int:
    """How many reads empty a pipe that nobody writes to: it holds as many packets as pages, and whoever writes may have
    made each write a packet of its own, and the pipe larger."""
    return fcntl.fcntl(pipe, _F_GETPIPE_SZ) // os.sysconf("SC_PAGESIZE") + 1


def unread_bytes(pipe: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0]


class Heard:
    """The first `cap` bytes are kept and handed on, the rest only counted."""

    def __init__(self, name: Stream, cap: int, on_output: OnOutput | None) -> None:
        self.name, self._cap, self._on_output = name, cap, on_output
        self.kept = bytearray()
        self.seen = 0

    def take(self, chunk: bytes) -> None:
        self.seen += len(chunk)
        room = self._cap - len(self.kept)
        if room > 0:
            kept = chunk[:room]
            self.kept += kept
            if self._on_output:
                self._on_output(self.name, kept)

    @property
    def truncated(self) -> bool:
        return self.seen > len(self.kept)

    @property
    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")
