"""What every request passes before the protocol's library sees it, in this order:

1. who asks: Host, Origin and token (`guard`), before anything is read or made
2. the path and the method: this server sends nothing of its own accord, so there is no stream to GET
3. the body: its bytes, its depth and its number of values, before anything is made of it
4. whose protocol session it is (`greetings`)

It also names the client for what comes behind, and tells a call when the connection that it came on is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ringfence.mcp.asgi import PATH, App, Header, Message, Receive, Send, answer
from ringfence.mcp.clients import client_of, make_cookie, owner_of
from ringfence.mcp.greetings import Greetings
from ringfence.mcp.guard import Headers, Rules
from ringfence.mcp.json_shape import MOST_DEPTH, MOST_VALUES, find_excess
from ringfence.mcp.server import CLIENT, GONE

MOST_BODY_BYTES = 4 << 20
_SMALL = 1 << 16  # what is looked at without a thread
_PARSE_ERROR = -32700


class Door:
    def __init__(self, app: App, greetings: Greetings, rules: Rules) -> None:
        self._app, self._greetings, self._rules = app, greetings, rules

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        refused = self._rules.refuse(headers)
        if refused is not None:
            status, sentence = refused
            await answer(send, status, {"error": sentence}, [(b"www-authenticate", b"Bearer")] * (status == 401))
            return
        if scope["path"] != PATH:
            await answer(send, 404, {"error": f"there is nothing here: use {PATH}"})
            return
        if scope["method"] not in ("POST", "DELETE"):
            await answer(send, 405, {"error": "use POST"}, [(b"allow", b"POST, DELETE")])
            return
        body = await _read_body(headers, receive)
        wrong = await _find_wrong(body)
        if body is None or wrong is not None:
            await _refuse_body(send, wrong)
            return
        await self._hand_on(scope, headers, body, receive, send)

    async def _hand_on(self, scope: Message, headers: Headers, body: bytes, receive: Receive, send: Send) -> None:
        token = self._rules.find_token(headers.get("authorization", [""])[0])
        owner = owner_of(token, scope["client"][0] if scope.get("client") else "")
        given = headers.get("mcp-session-id", [""])[0]
        session = given if self._greetings.holds(given, owner) else None
        client = client_of(owner, has_token=token is not None, session=session, cookies=headers.get("cookie", ()))
        gone, read = asyncio.Event(), False

        async def replay() -> Message:
            nonlocal read
            if not read:
                read = True
                return {"type": "http.request", "body": body, "more_body": False}
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        nameless = token is None and client.handed == "" and headers.get("mcp-method") == ["server/discover"]
        sending = _handing_out(send, make_cookie()) if nameless else send
        inner = {**scope, GONE: gone, CLIENT: client}
        await self._greetings(inner, replay, sending, owner=owner, greets=b'"initialize"' in body)


def _headers(scope: Message) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _handing_out(send: Send, cookie: str) -> Send:
    async def handing(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: Sequence[Header] = message.get("headers", ())
            message = {**message, "headers": [*given, (b"set-cookie", cookie.encode())]}
        await send(message)

    return handing


async def _read_body(headers: Headers, receive: Receive) -> bytes | None:
    """All of it; None where it is too large. How long it may take is the connection's to say."""
    declared = headers.get("content-length", ["0"])[0]
    if declared.isascii() and declared.isdigit() and int(declared) > MOST_BODY_BYTES:
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)  # the peer has gone: nobody sees what comes of it
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _find_wrong(body: bytes | None) -> str | None:
    if body is None:
        return None
    if len(body) <= _SMALL:
        return find_excess(body, depth=MOST_DEPTH, values=MOST_VALUES)
    return await asyncio.to_thread(find_excess, body, depth=MOST_DEPTH, values=MOST_VALUES)


async def _refuse_body(send: Send, wrong: str | None) -> None:
    if wrong is None:
        await answer(send, 413, {"error": f"a body may have {MOST_BODY_BYTES:,} bytes: send less, or in parts"})
        return
    said = {"code": _PARSE_ERROR, "message": f"the body is not taken: {wrong}; send less of it"}
    await answer(send, 400, {"jsonrpc": "2.0", "id": None, "error": said})
