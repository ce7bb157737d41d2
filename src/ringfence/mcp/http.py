"""Serve many clients over streamable HTTP at /mcp."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from ringfence.base.errors import SettingsError
from ringfence.mcp.asgi import PATH
from ringfence.mcp.connections import Connections, Patience
from ringfence.mcp.desk import Desk
from ringfence.mcp.door import MOST_BODY_BYTES, Door
from ringfence.mcp.greetings import Greetings
from ringfence.mcp.guard import Rules
from ringfence.mcp.stdio import tidy

_IDLE_SECONDS = 1800.0  # of a protocol session
_GRACE_SECONDS = 2


def serve_http(
    desk: Desk, server: Server[Any], *, host: str, port: int, rules: Rules, say: Callable[[str], None]
) -> int:
    """Until a signal comes. `say` gets the address once it is bound, with the port that `port=0` was given."""
    settings = desk.settings
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BODY_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        # Ours are bounded below that: room for those that are just being greeted.
        max_sessions=settings.mcp_max_clients + settings.mcp_max_connections,
        # The door before it looks at Host and Origin, on every path.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    greetings = Greetings(app, most=settings.mcp_max_clients, idle_seconds=_IDLE_SECONDS, ended=desk.forget)
    connections = Connections(
        most=settings.mcp_max_connections,
        most_each=settings.mcp_address_connections,
        patience=Patience(head=settings.mcp_head_seconds, body=settings.mcp_body_seconds),
    )
    try:
        with _bind(host, port) as listener:
            shown = f"[{host}]" if ":" in host else host
            say(f"listening on http://{shown}:{listener.getsockname()[1]}{PATH}")
            return anyio.run(_serve, desk, Door(app, greetings, rules), connections, listener)
    finally:
        desk.close()


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
    except OSError as e:
        raise SettingsError(f"--host {host!r} cannot be used ({e.strerror}): give an address of this machine") from e
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as e:
        listener.close()
        raise SettingsError(f"port {port} of {host} cannot be had ({e.strerror}): choose another with --port") from e
    return listener


async def _serve(desk: Desk, app: Door, connections: Connections, listener: socket.socket) -> int:
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=_GRACE_SECONDS, ws="none",
        http=cast("type[asyncio.Protocol]", connections.protocol),  # it only calls it
    )  # fmt: skip
    server, ended = _Server(config), 0
    async with anyio.create_task_group() as group:
        group.start_soon(tidy, desk)

        async def obey() -> None:
            nonlocal ended
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
                async for number in signals:
                    ended = 128 + number
                    server.should_exit = True

        group.start_soon(obey)
        await server.serve(sockets=[listener])
        group.cancel_scope.cancel()
    return ended


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours: the library's would raise the signal again before the sandbox is closed."""
        yield
