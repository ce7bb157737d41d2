"""What every tool works with, made once per server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ringfence.base.config import Settings
from ringfence.mcp.bounds import Bounds, find_bounds
from ringfence.mcp.calls import Calls
from ringfence.mcp.clients import Client
from ringfence.mcp.fence import Fence
from ringfence.mcp.sessions import Sessions
from ringfence.mcp.shelf import Shelf, sweep

_QUICK = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    settings: Settings
    environ: Mapping[str, str]
    secret: Callable[[], str]  # what the look-ahead check's cuts hang from
    fence: Fence
    calls: Calls
    quick: Calls  # for what takes no program: it does not wait behind those that do
    shelf: Shelf
    sessions: Sessions
    bounds: Mapping[str, Bounds]  # by preset

    @property
    def database(self) -> str:
        return self.settings.database_url(self.environ)

    @property
    def home(self) -> Path:
        return self.settings.home_dir(self.environ)

    async def forget(self, client: Client) -> None:
        """It is gone, and can never come back as itself."""
        await asyncio.to_thread(self._forget, client)

    def _forget(self, client: Client) -> None:
        self.sessions.forget(client)
        self.shelf.forget(client)

    def close(self) -> None:
        self.fence.close()  # first: it ends the cells that the sessions would wait for
        self.sessions.close_all()
        self.shelf.close()


def make_desk(settings: Settings, environ: Mapping[str, str], fence: Fence, secret: Callable[[], str]) -> Desk:
    kept = settings.home_dir(environ) / "mcp"
    sweep(kept)
    return Desk(
        settings=settings,
        environ=environ,
        secret=secret,
        fence=fence,
        calls=Calls(most=settings.mcp_max_calls, waiting=settings.mcp_max_waiting),
        quick=Calls(most=_QUICK, waiting=settings.mcp_max_waiting),
        shelf=Shelf(
            kept,
            most_bytes=settings.mcp_artifacts_mb << 20,
            seconds=settings.mcp_artifacts_seconds,
        ),
        sessions=Sessions(fence, most=settings.mcp_max_sessions, idle_seconds=settings.mcp_session_seconds),
        bounds={preset: find_bounds(settings, preset) for preset in ("chat", "backtest")},
    )
