"""Speaking to the HTTP server without the official client: message by message, and byte by byte."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from tests.mcp.serving import BEGIN, SECONDS, Json

MODERN = "2026-07-28"
_META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
_ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(slots=True)
class Caller:
    """A client with an HTTP client of its own. `modern` has no handshake; else it has a protocol session."""

    url: str
    modern: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    http: httpx2.Client = field(init=False)
    session: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.http = httpx2.Client(headers={**_ACCEPT, **self.headers}, timeout=SECONDS)

    def greet(self) -> httpx2.Response:
        if self.modern:
            return self.send("server/discover", {})
        answered = self.post(message("initialize", BEGIN))
        if answered.status_code == 200:
            self.session = {
                "mcp-session-id": answered.headers["mcp-session-id"],
                "mcp-protocol-version": "2025-11-25",
            }
            self.post(message("notifications/initialized", {}, number=None), self.session)
        return answered

    def send(self, method: str, params: Json) -> httpx2.Response:
        if not self.modern:
            return self.post(message(method, params), self.session)
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
        name = params.get("name", params.get("uri"))
        if name is not None:
            headers["mcp-name"] = name
        return self.post(message(method, {**params, "_meta": _META}), headers)

    def ask(self, method: str, params: Json) -> Json:
        """The result, or the error."""
        answered = self.send(method, params)
        text = answered.text
        if answered.headers["content-type"].startswith("text/event-stream"):
            [text] = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        said = json.loads(text)
        return said["result"] if "result" in said else said["error"]

    def call(self, tool: str, **arguments: Json) -> Json:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def post(self, content: bytes, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        return self.http.post(self.url, content=content, headers=headers or {})

    def close(self) -> None:
        self.http.close()


def message(method: str, params: Json, number: int | None = 1) -> bytes:
    said = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    return json.dumps(said).encode()


def connect(url: str, *pieces: bytes) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname and parts.port
    line = socket.create_connection((parts.hostname, parts.port), timeout=SECONDS)
    for piece in pieces:
        line.sendall(piece)
    return line
