"""The protocol sessions that clients open by `initialize`: bounded for each owner and in all.

The library keeps a task and its streams for each, and turns new ones away when it has too many, so that whoever greets
often enough shuts out everybody else. Here the session that matters least makes room: one that was never used since its
greeting, else the one that has been idle the longest. Which session is whose is kept here too: the id of another's gets
the answer of one that there is not.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ringfence.mcp.asgi import PATH, App, Message, Receive, Send
from ringfence.mcp.clients import Client

SESSION = b"mcp-session-id"
_UNKNOWN = b"unknown"  # what the library is shown instead of another's


@dataclass(slots=True)
class _Greeting:
    session_id: str
    owner: str
    last: float
    uses: int = 0
    busy: int = 0


class Greetings:
    """Around the library's application. `ended` is told of each client whose session is over."""

    def __init__(self, app: App, *, most: int, idle_seconds: float, ended: Callable[[Client], Awaitable[None]]) -> None:
        self._app, self._most, self._idle, self._ended = app, most, idle_seconds, ended
        self._known: dict[str, _Greeting] = {}

    def holds(self, session_id: str, owner: str) -> bool:
        found = self._known.get(session_id)
        return found is not None and found.owner == owner

    async def __call__(self, scope: Message, receive: Receive, send: Send, *, owner: str, greets: bool) -> None:
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == SESSION), None)
        if given is not None:
            await self._used(given, owner, scope, receive, send)
            return
        if greets:
            await self._make_room(owner)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message.get("headers", ()):
                    if name.lower() == SESSION:
                        self._known[value.decode()] = _Greeting(value.decode(), owner, time.monotonic())
            await send(message)

        await self._app(scope, receive, watched)

    async def _used(self, given: str, owner: str, scope: Message, receive: Receive, send: Send) -> None:
        if not self.holds(given, owner):
            others = [(name, _UNKNOWN if name == SESSION else value) for name, value in scope["headers"]]
            await self._app({**scope, "headers": others}, receive, send)
            return
        found = self._known[given]
        found.uses, found.busy, found.last = found.uses + 1, found.busy + 1, time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            found.busy, found.last = found.busy - 1, time.monotonic()
        if scope["method"] == "DELETE":
            await self._forget(found)

    async def _make_room(self, owner: str) -> None:
        """For one more: of the owner's own while it has half of all places, then of anybody's."""
        now = time.monotonic()
        for found in [each for each in self._known.values() if not each.busy and now - each.last > self._idle]:
            await self._forget(found)  # the library has ended it
        for rivals, most in (
            ([each for each in self._known.values() if each.owner == owner], max(1, self._most // 2)),
            (list(self._known.values()), self._most),
        ):
            idle = [each for each in rivals if not each.busy]
            if len(rivals) >= most and idle:
                await self._end(min(idle, key=lambda each: (each.uses > 0, each.last)))

    async def _end(self, found: _Greeting) -> None:
        """As its client would: by DELETE."""
        self._known.pop(found.session_id, None)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "DELETE", "scheme": "http",
            "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": "",
            "client": None, "server": None,
            "headers": [(SESSION, found.session_id.encode()), (b"accept", b"*/*")],
        }  # fmt: skip

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            pass

        await self._app(scope, receive, send)
        await self._forget(found)

    async def _forget(self, found: _Greeting) -> None:
        self._known.pop(found.session_id, None)
        await self._ended(Client(found.owner, f"session {found.session_id}"))
