"""What comes over a guest's descriptor: one frame, a length and that many bytes of JSON.

It is counted while it comes, and refused with the first byte that shows it to be wrong: a length over the most, a byte
after the end, values that would cost too much. What came is then dropped, and nothing more is taken in.
"""

from __future__ import annotations

from ringfence.guest import wire
from ringfence.guest.cost import Cost, TooCostly
from ringfence.sandbox.frames import Body, Sealed, free, new_body

REPORT_ROOM = 1 << 20  # for a traceback beside the largest result
_STEP = 1 << 16
_NOT_ONE = "the channel carried something other than one report"


class Channel:
    def __init__(self, result_mb: int) -> None:
        self._most = (result_mb << 20) + REPORT_ROOM
        self.seen = 0
        self._head = b""
        self._body: Body = bytearray()
        self._filled = self._counted = 0
        self._cost: Cost | None = None
        self._damage: str | None = None

    def take(self, chunk: bytes) -> bool:
        """False when it was refused: nothing more is taken in."""
        self.seen += len(chunk)
        if self._damage is not None:
            return False
        if self._cost is None:
            missing = wire.HEAD_BYTES - len(self._head)
            self._head, chunk = self._head + chunk[:missing], chunk[missing:]
            if len(self._head) < wire.HEAD_BYTES:
                return True
            size = wire.length(self._head)
            if size > self._most:
                return self._refuse(f"the report is {size:,} bytes long, and {self._most:,} are the most")
            self._cost = Cost(size)
            self._body = new_body(size)
        if self._filled + len(chunk) > self._cost.size:
            return self._refuse(_NOT_ONE)
        self._body[self._filled : self._filled + len(chunk)] = chunk
        self._filled += len(chunk)
        return self._count(self._cost)

    def _count(self, cost: Cost) -> bool:
        try:
            while self._filled - self._counted >= (1 if self.is_whole else _STEP):
                piece = bytes(self._body[self._counted : min(self._counted + _STEP, self._filled)])
                cost.feed(piece)
                self._counted += len(piece)
        except TooCostly as e:
            return self._refuse(str(e))
        return True

    def _refuse(self, why: str) -> bool:
        self._damage = why
        free(self._body)
        return False

    @property
    def is_refused(self) -> bool:
        return self._damage is not None

    @property
    def is_whole(self) -> bool:
        """Whether a report is here, which nothing may follow."""
        return self._damage is None and self._cost is not None and self._filled == self._cost.size

    @property
    def damage(self) -> str | None:
        """What is wrong with all that came, if nothing more comes."""
        if self._damage is None and self._head and not self.is_whole:
            return _NOT_ONE
        return self._damage

    def report(self) -> Sealed | None:
        """The report, which is handed over and not copied; None where there is none."""
        return Sealed(self._body, self._cost) if self.is_whole and self._cost is not None else None
