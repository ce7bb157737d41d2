"""The clients whose configuration we know: where it is, in which table servers are, and how an entry is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ringfence.base.errors import InputError

Value = str | list[str] | Mapping[str, str]
Entry = Mapping[str, Value]

# What says how a server is reached. Anything else in an entry is the user's own and stays; so do variables of `env`
# that are not ours.
TRANSPORT = frozenset({"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "http_headers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How the server is reached: by starting `command` with `env` added to what it finds, or at `url`."""

    command: tuple[str, ...]
    url: str | None = None
    token: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    table: tuple[str, ...]
    find: Callable[[Path, Path], Path]  # from the home directory and the current one
    stdio_type: str | None = None  # what `type` says, where the client wants it said
    url_key: str | None = "url"  # None: it speaks no HTTP by its configuration
    http_type: str | None = None
    headers_key: str = "headers"

    def entry(self, server: Server) -> Entry:
        if server.url is None:
            kind = {} if self.stdio_type is None else {"type": self.stdio_type}
            env = {"env": server.env} if server.env else {}
            return {**kind, "command": server.command[0], "args": list(server.command[1:]), **env}
        if self.url_key is None:
            raise InputError(f"{self.name} starts servers itself and is told no address: leave out --http")
        kind = {} if self.http_type is None else {"type": self.http_type}
        headers = {} if server.token is None else {self.headers_key: {"Authorization": f"Bearer {server.token}"}}
        return {**kind, self.url_key: server.url, **headers}


def _claude_desktop(home: Path, _: Path) -> Path:
    folder = {"darwin": home / "Library" / "Application Support", "win32": home / "AppData" / "Roaming"}
    return folder.get(sys.platform, home / ".config") / "Claude" / "claude_desktop_config.json"


_SERVERS = ("mcpServers",)

CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(name="claude-code", table=_SERVERS, find=lambda _, here: here / ".mcp.json", http_type="http"),
        Client(name="claude-desktop", table=_SERVERS, find=_claude_desktop, url_key=None),
        Client(name="cursor", table=_SERVERS, find=lambda home, _: home / ".cursor" / "mcp.json"),
        Client(
            name="vscode",
            table=("servers",),
            find=lambda _, here: here / ".vscode" / "mcp.json",
            stdio_type="stdio",
            http_type="http",
        ),
        Client(
            name="codex",
            table=("mcp_servers",),
            find=lambda home, _: home / ".codex" / "config.toml",
            headers_key="http_headers",
        ),
        Client(
            name="gemini",
            table=_SERVERS,
            find=lambda home, _: home / ".gemini" / "settings.json",
            url_key="httpUrl",
        ),
        Client(
            name="windsurf",
            table=_SERVERS,
            find=lambda home, _: home / ".codeium" / "windsurf" / "mcp_config.json",
            url_key="serverUrl",
        ),
    )
}


def merged(there: object, entry: Entry) -> dict[str, object]:
    """What an entry becomes: ours, and what a user has added to the one that is there."""
    own = {name: value for name, value in there.items() if name not in TRANSPORT} if isinstance(there, dict) else {}
    made = {**own, **entry}
    if isinstance(env := own.get("env"), dict) and isinstance(ours := entry.get("env"), Mapping):
        made["env"] = {**env, **ours}
    return made


def find_client(name: str | None, path: Path | None) -> Client:
    """The named one; for a path alone the one whose files look like that."""
    if name is None and path is not None:
        name = "codex" if path.suffix == ".toml" else "claude-code"
    client = CLIENTS.get(name or "")
    if client is None:
        raise InputError(f"client {name!r} is unknown: use one of {', '.join(CLIENTS)}, or --path FILE")
    if path is not None and (path.suffix == ".toml") != (client.name == "codex"):
        raise InputError(f"{path} is no file of {client.name}: give one that ends in {_ending(client)}")
    return client


def _ending(client: Client) -> str:
    return ".toml" if client.name == "codex" else ".json"
