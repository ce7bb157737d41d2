"""Who may speak to the HTTP server: the right Host, no foreign Origin, the token where there is one.

A web page in a browser on this machine can send requests here, and a name that its owner points at 127.0.0.1 makes
them look like its own (DNS rebinding). Such a request carries the name as its Host, so only names that are ours pass.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ringfence.mcp.server import GONE

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    names: frozenset[str]  # besides localhost
    loopback: bool  # bound to loopback only: other addresses cannot be ours
    token: str | None

    def knows_host(self, host: str) -> bool:
        """`host` with or without a port. A rebinding page has a name of its own, never an address."""
        name = (urlsplit(f"//{host}").hostname or "").lower().rstrip(".")
        if name == "localhost" or name in self.names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback or not self.loopback
        except ValueError:
            return False

    def knows_origin(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme in ("http", "https") and self.knows_host(parts.netloc)
        except ValueError:
            return False

    def knows_token(self, header: str) -> bool:
        if self.token is None:
            return True
        kind, _, given = header.partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self.token.encode())
        return same and kind.lower() == "bearer"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_rules(host: str, more: str | None, token: str | None) -> Rules:
    """`more` is a list of names with commas: those that a proxy in front of us is known by."""
    names = {name.strip().lower() for name in (more or "").split(",") if name.strip()}
    if not is_loopback(host):
        names |= {host.lower(), socket.gethostname().lower()}
    return Rules(names=frozenset(names), loopback=is_loopback(host), token=token)


class Guard:
    """Around the application. It also tells a call when the connection that it came on is lost."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refuse(scope)
        if refused is not None:
            await _answer(send, *refused)
            return
        gone = asyncio.Event()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        await self._app({**scope, GONE: gone}, watched, send)

    def _refuse(self, scope: Message) -> tuple[int, str] | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        try:
            known = len(hosts) == 1 and self._rules.knows_host(hosts[0])
        except ValueError:
            known = False
        if not known:
            return 421, "this Host is not ours: use the address that the server printed, or set RINGFENCE_MCP_HOSTS"
        if not all(map(self._rules.knows_origin, headers.get("origin", []))):
            return 403, "this Origin may not speak to the server: it is not ours"
        if not self._rules.knows_token(headers.get("authorization", [""])[0]):
            return 401, "a token is needed: send the header 'Authorization: Bearer TOKEN'"
        return None


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
