"""Whose turn it is: at most `most` calls run at once, and the next place goes to the client that has the fewest."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ringfence.base.errors import RefusedError
from ringfence.mcp.clients import Client


@dataclass(eq=False, slots=True)
class _Waiting:
    client: Client
    called: asyncio.Event = field(default_factory=asyncio.Event)


class Turns:
    """`waiting` calls wait, in the order in which they came among those of one client.

    A client that fills the queue does not shut out another: who has none waiting may put one call behind a full queue,
    as long as it is not twice as long as it should be.
    """

    def __init__(self, *, most: int, waiting: int) -> None:
        self._most, self._room = most, waiting
        self._running: Counter[Client] = Counter()
        self._queue: list[_Waiting] = []

    @asynccontextmanager
    async def taken(self, client: Client) -> AsyncIterator[None]:
        """Within, it is the call's turn. RefusedError where it may not even wait."""
        if self._running.total() < self._most and not self._queue:
            self._running[client] += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._running -= Counter([client])
            self._call_next()

    def check_room(self, client: Client) -> None:
        if self._running.total() < self._most and not self._queue:
            return
        mine = any(waiting.client == client for waiting in self._queue)
        if len(self._queue) >= (self._room if mine or self._running[client] else 2 * self._room):
            raise RefusedError(
                f"the server is busy: {self._most} calls run and {len(self._queue)} wait; try again in some seconds"
            )

    async def _wait(self, client: Client) -> None:
        self.check_room(client)
        waiting = _Waiting(client)
        self._queue.append(waiting)
        try:
            await waiting.called.wait()
        except asyncio.CancelledError:
            if waiting.called.is_set():  # called and cancelled at once: the place is not ours any more
                self._running -= Counter([client])
                self._call_next()
            else:
                self._queue.remove(waiting)
            raise

    def _call_next(self) -> None:
        while self._queue and self._running.total() < self._most:
            chosen = min(self._queue, key=lambda waiting: self._running[waiting.client])  # the oldest of equals
            self._queue.remove(chosen)
            self._running[chosen.client] += 1
            chosen.called.set()
