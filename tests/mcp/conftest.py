"""Servers and clients that many tests share: one of each kind per module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.mcp.serving import BACKENDS, MODES, Peer, Served, connected, connected_http, http_server, stdio


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    require("mcp")
    require("linux")
    if request.param != "native":
        require(request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def served(backend: str, home: Path) -> Iterator[Served]:
    """A server over HTTP that every test may speak to, and none may end."""
    with http_server(home, backend) as server:
        yield server


@pytest.fixture(scope="session", params=[f"{wire}-{mode}" for wire in ("stdio", "http") for mode in MODES])
def peer(request: pytest.FixtureRequest, backend: str, home: Path) -> Iterator[Peer]:
    """The official client on each wire and in each mode of the protocol."""
    wire, mode = request.param.split("-")
    if wire == "stdio":
        with connected(stdio(home, backend), backend, mode) as client:
            yield client
    else:
        with connected_http(request.getfixturevalue("served"), backend, mode) as client:
            yield client


@pytest.fixture
def one(served: Served, backend: str) -> Iterator[Peer]:
    """One client, for what does not depend on the wire."""
    with connected_http(served, backend, "auto") as client:
        yield client
