"""One output stream of a job, as the keeper passes it on: the first bytes whole, the rest only counted."""

from __future__ import annotations

import os
from collections.abc import Callable

from ringfence.sandbox.streams import most_reads, unread_bytes

_CHUNK = 1 << 16


class Tap:
    def __init__(self, kind: bytes, fd: int, say: Callable[[bytes, bytes], None]) -> None:
        self._kind, self.fd, self._say = kind, fd, say
        self._cap = 0
        self.seen = 0
        self.open = True

    def reset(self, cap: int) -> None:
        self._cap, self.seen = cap, 0

    def drain(self) -> int:
        """Read once; returns how many bytes came."""
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self.open = False
            return 0
        room = self._cap - self.seen
        if room > 0:
            self._say(self._kind, chunk[:room])
        self.seen += len(chunk)
        return len(chunk)

    def drain_rest(self) -> None:
        """After the last writer is gone, or was stopped: what is in the pipe, and no more than it holds. What a writer
        who could not be stopped adds meanwhile counts as seen, so that the host says that some was left out."""
        for _ in range(most_reads(self.fd)):
            if self.drain() == 0:
                return
        self.seen += unread_bytes(self.fd)
