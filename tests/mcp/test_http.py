"""Who may speak to the server over HTTP."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest

from tests.mcp.serving import SECONDS, Served, argv, connected_http, environment, http_server, lean

TOKEN = "let-me-in"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}


def post(served: Served, headers: Mapping[str, str | bytes] = ACCEPT, content: bytes = b"") -> httpx2.Response:
    given = {**ACCEPT, "content-type": "application/json", **headers}
    raw = [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in given.items()]
    return httpx2.post(served.url, content=content or json.dumps(LIST).encode(), headers=raw)


@pytest.fixture(scope="module")
def locked(backend: str, home: Path) -> Iterator[Served]:
    with http_server(home, lean(backend), "--token", TOKEN) as server:
        yield server


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_right_token_is_accepted(locked: Served, backend: str, mode: str) -> None:
    with connected_http(locked, backend, mode, {"authorization": f"Bearer {TOKEN}"}) as peer:
        assert peer.run("result = 1")["result"] == 1


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer \xff"]
)
def test_any_other_is_refused(locked: Served, header: str | None) -> None:
    answered = post(locked, {} if header is None else {"authorization": header.encode("latin-1")})
    assert answered.status_code == 401
    assert answered.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answered.json()["error"]


def test_the_token_may_come_from_the_settings(backend: str, home: Path) -> None:
    with http_server(home, lean(backend), RINGFENCE_MCP_TOKEN=TOKEN, RINGFENCE_MCP_HOSTS="proxy.example") as server:
        assert post(server).status_code == 401
        known = {"authorization": f"Bearer {TOKEN}"}
        assert post(server, known).status_code not in (401, 403, 421)
        assert post(server, {**known, "host": "proxy.example"}).status_code not in (401, 403, 421)
        assert post(server, {**known, "host": "other.example"}).status_code == 421


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "10.1.1.1", "["]
)
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    assert post(served, {"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:9", "[::1]:8765", "LOCALHOST:2"])
def test_a_host_of_this_machine_is_ours(served: Served, host: str) -> None:
    assert post(served, {"host": host}).status_code not in (401, 403, 421)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://evil.example:8765", "file://", "http://["])
def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    assert post(served, {"origin": origin}).status_code == 403


def test_our_own_origin_is_fine(served: Served) -> None:
    assert post(served, {"origin": "http://localhost:3000"}).status_code not in (401, 403, 421)


def test_a_body_of_more_than_4_mib_is_refused(served: Served) -> None:
    large = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "' + b"y" * (4 << 20) + b'"}}'
    assert post(served, content=large).status_code == 413


HALF = "\ud800"  # of a character: JSON can spell it, UTF-8 cannot carry it


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("artifact_read", {"run_id": HALF, "name": HALF}),
        ("run_python", {"code": "1", HALF: 1}),
        ("run_python", {"code": HALF}),
        ("run_python", {"code": "result = x", "inputs": {"x": HALF}}),
        ("run_python", {"code": "1", "files": {"a": HALF}}),
        ("session_run", {"session_id": HALF, "code": "1"}),
        (HALF, {}),
    ],
)
def test_half_a_character_is_answered(served: Served, tool: str, arguments: Mapping[str, object]) -> None:
    version = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"mcp-protocol-version": version, "mcp-method": "tools/call"}
    headers["mcp-name"] = "x" if tool == HALF else tool
    answered = post(served, {**ACCEPT, **headers}, json.dumps(message).encode())
    assert answered.status_code in (200, 400)
    assert answered.json()["id"] == 1


def test_only_one_path_is_served(served: Served) -> None:
    assert httpx2.get(served.url.replace("/mcp", "/")).status_code == 404


def test_beyond_loopback_a_token_is_made_and_told(backend: str, home: Path) -> None:
    with http_server(home, lean(backend), "--host", "0.0.0.0") as server:
        [token] = re.findall(r"Bearer (\S+)'", "".join(server.said))
        assert post(server).status_code == 401
        with connected_http(server, backend, "auto", {"authorization": f"Bearer {token}"}) as peer:
            assert peer.run("result = 1")["result"] == 1
        known = {"authorization": f"Bearer {token}"}
        assert post(server, {**known, "host": "evil.example"}).status_code == 421


def test_a_port_that_is_taken_is_told(served: Served, home: Path) -> None:
    port = re.findall(r":(\d+)/", served.url)[0]
    command = argv("--http", "--port", port)
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 78
    assert "choose another with --port" in done.stderr
