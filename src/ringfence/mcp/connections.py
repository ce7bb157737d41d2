"""The connections of the HTTP server: how long each may take to ask, and how many there may be.

uvicorn waits for ever for the rest of a head or a body. Here each connection has a stage, and the stages in which the
peer owes us bytes have a time limit:

    head ── body ── answer ── rest ── head ...

`answer` has none: a call may run long, and its answer comes as a stream. Only a peer that does not read it is dropped.
Where there are too many connections, the one that has owed us bytes the longest makes room; if all are being answered,
the new one is turned away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

Stage = Literal["head", "body", "answer", "rest"]

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """In seconds."""

    head: float
    body: float
    reading: float = 60.0  # of an answer of which the peer takes nothing


@dataclass(slots=True)
class Connections:
    """Those of one server. All of it happens on the event loop."""

    most: int
    most_each: int  # of one address
    patience: Patience
    open_: dict[Connection, str] = field(default_factory=dict)  # the address of each, the oldest first

    def protocol(self, **words: Any) -> Connection:
        """What uvicorn makes one of for each connection."""
        return Connection(self, **words)

    def admit(self, new: Connection, address: str) -> bool:
        """Whether it may stay; another may have had to go for it."""
        self.open_[new] = address
        rivals: Iterable[Connection] = ()
        mine = [other for other, at in self.open_.items() if at == address and other is not new]
        if len(mine) >= self.most_each:
            rivals = mine
        elif len(self.open_) > self.most:
            rivals = [other for other in self.open_ if other is not new]
        else:
            return True
        # One that rests has asked before and was answered: it goes after those that never finished.
        owing = [other for other in rivals if other.stage in ("head", "body")]
        resting = [other for other in rivals if other.stage == "rest"]
        victim = min(owing or resting, key=lambda other: other.since, default=None)
        if victim is None:
            return False
        victim.drop()
        return True

    def forget(self, gone: Connection) -> None:
        self.open_.pop(gone, None)


class Connection(H11Protocol):
    def __init__(self, connections: Connections, **words: Any) -> None:
        super().__init__(**words)
        self._all = connections
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._asking = False  # bytes of a next request have come
        self.stage: Stage = "rest"
        self.since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the library has it
        super().connection_made(transport)
        self._enter("head")
        if not self._all.admit(self, self.client[0] if self.client else ""):
            self._end(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.forget(self)
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._asking = self._asking or self.stage in ("head", "rest")
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._all.patience.reading, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def drop(self) -> None:
        self._all.forget(self)
        self._stop_timers()
        self.transport.abort()

    @property
    def _current(self) -> RequestResponseCycle | None:
        """None before the first request, whatever the library's annotation says."""
        return self.cycle

    def _look(self) -> None:
        """What stage the library's own state amounts to."""
        cycle = self._current
        if cycle is None or cycle.response_complete:
            stage: Stage = "head" if self._asking or cycle is None else "rest"
        else:
            self._asking = False
            stage = "body" if cycle.more_body else "answer"
        if stage != self.stage and not self.transport.is_closing():
            self._enter(stage)

    def _enter(self, stage: Stage) -> None:
        self.stage, self.since = stage, self.loop.time()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if stage in ("head", "body"):
            seconds = self._all.patience.head if stage == "head" else self._all.patience.body
            self._timer = self.loop.call_later(seconds, partial(self._end, _LATE))

    def _end(self, said: bytes) -> None:
        """`said` is for a peer that has had no other answer."""
        self._all.forget(self)
        self._stop_timers()
        if self._current is None or not self._current.response_started:
            self.transport.write(said)
        self.transport.close()

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._unread):
            if timer is not None:
                timer.cancel()
        self._timer = self._unread = None
