"""Calls beside each other: many at once, more than may run, long ones, and those that nobody waits for any more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp_types import CallToolResult

from tests.conftest import ROOT
from tests.mcp.serving import (
    Json,
    Peer,
    Served,
    alive,
    answer,
    connected,
    connected_http,
    descendants,
    http_server,
    lean,
    make_mark,
    marked_program,
    processes_with,
    refusal,
    stdio,
    text,
    wait_until,
)

STRATEGY = (ROOT / "examples" / "rsi_dip.py").read_text()


@pytest.fixture
def narrow(home: Path, backend: str) -> Iterator[Served]:
    """A server where one call runs and two wait, few artifacts are kept, and two sessions may be open."""
    limits = {"MAX_CALLS": "1", "MAX_WAITING": "2", "ARTIFACTS_MB": "1", "MAX_SESSIONS": "2", "SESSION_SECONDS": "1"}
    with http_server(
        home, lean(backend), **{f"RINGFENCE_MCP_{name}": value for name, value in limits.items()}
    ) as server:
        yield server


def test_ten_calls_at_once(peer: Peer) -> None:
    async def body() -> list[Json]:
        found: list[Json] = []

        async def one(n: int) -> None:
            code = "import time\ntime.sleep(0.2)\nresult = n * n\nprint(n)"
            result = await peer.client.call_tool("run_python", {"code": code, "inputs": {"n": n}})
            found.append((n, answer(result)["result"], answer(result)["stdout"]))

        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(one, n)
        return found

    assert sorted(peer.portal.call(body)) == [(n, n * n, f"{n}\n") for n in range(10)]


def test_calls_wait_in_order_and_too_many_are_told(narrow: Served, backend: str) -> None:
    with connected_http(narrow, backend, "auto") as peer:

        async def body() -> tuple[list[int], list[CallToolResult]]:
            ended: list[int] = []
            refused: list[CallToolResult] = []

            async def one(n: int) -> None:
                result = await peer.client.call_tool("run_python", {"code": "import time; time.sleep(1)"})
                ended.append(n) if not result.is_error else refused.append(result)

            async with anyio.create_task_group() as group:
                for n in range(5):
                    group.start_soon(one, n)
                    await anyio.sleep(0.1)  # so that they come in this order
            return ended, refused

        ended, refused = peer.portal.call(body)
        assert ended == [0, 1, 2]
        assert len(refused) == 2
        assert "the server is busy: 1 calls run and 2 wait" in refusal(refused[0])
        assert peer.run("result = 1")["result"] == 1


def test_sessions_are_few_and_end_when_idle(narrow: Served, backend: str) -> None:
    with connected_http(narrow, backend, "auto") as peer:
        first, second = (answer(peer.call("session_create"))["session_id"] for _ in range(2))
        assert "all 2 sessions" in refusal(peer.call("session_create"))
        answer(peer.call("session_close", session_id=second))
        wait_until(lambda: peer.call("session_run", session_id=first, code="1").is_error or _pause(), "it is idle")
        assert "session_create" in refusal(peer.call("session_run", session_id=first, code="1"))
        for _ in range(2):
            answer(peer.call("session_create"))


def _pause() -> bool:
    """Longer than a session of the narrow server may be idle."""
    anyio.run(anyio.sleep, 1.2)
    return False


def test_old_artifacts_make_room_for_new_ones(narrow: Served, backend: str) -> None:
    write = "open('x.bin', 'wb').write(bytes(700_000))"
    with connected_http(narrow, backend, "auto") as peer:
        first, second = peer.run(write), peer.run(write)
        assert answer(peer.call("artifact_read", run_id=second["run_id"], name="x.bin"))["bytes"] == 700_000
        assert "artifact_list" in refusal(peer.call("artifact_read", run_id=first["run_id"], name="x.bin"))
        large = peer.call("run_python", code="open('y.bin', 'wb').write(bytes(2_000_000))")
        assert answer(large)["artifacts"][0]["uri"] is None
        assert "larger than what this server keeps" in text(large)


def test_artifacts_expire(tmp_path: Path, backend: str) -> None:
    with connected(stdio(tmp_path, lean(backend), RINGFENCE_MCP_ARTIFACTS_SECONDS="0.5"), backend) as peer:
        run_id = peer.run("open('x.txt', 'w').write('x')")["run_id"]
        wait_until(lambda: not answer(peer.call("artifact_list"))["artifacts"], "they have expired")
        assert "expired after 0.5 s" in refusal(peer.call("artifact_list", run_id=run_id))
        [own] = (tmp_path / "mcp").iterdir()
        assert list(own.iterdir()) == []
        assert own.stat().st_mode & 0o077 == 0
    assert list((tmp_path / "mcp").iterdir()) == []


def test_progress_is_told(peer: Peer) -> None:
    told: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def body() -> CallToolResult:
        arguments = {"code": "import time; time.sleep(2.5)"}
        return await peer.client.call_tool("run_python", arguments, progress_callback=listen)

    assert answer(peer.portal.call(body))["status"] == "ok"
    assert told and re.fullmatch(r"waiting for the program's answer, \d+ s; it has 15 s once it runs", told[0] or "")


def test_a_call_that_is_cancelled_leaves_no_process(peer: Peer) -> None:
    mark = make_mark()

    async def body() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(peer.client.call_tool, "run_python", {"code": marked_program(mark)})
            await anyio.to_thread.run_sync(wait_until, lambda: processes_with(mark), "the program runs")
            group.cancel_scope.cancel()

    peer.portal.call(body)
    wait_until(lambda: not processes_with(mark), "the program is gone")
    assert peer.run("result = 1")["result"] == 1


def test_a_backtest_that_is_cancelled_while_it_is_checked_is_not_stored(narrow: Served, backend: str) -> None:
    """It ran to its end: only where the check has turned the future does it hang. What is stored must be whole."""
    mark = make_mark()
    hang = (
        "def next(self):\n        if len(self.data) == 2148 and abs(self.data.close[-1] - 806.19) > 0.01:\n"
        + "".join(f"            {line}\n" for line in marked_program(mark).splitlines())
    )
    asked = {"code": STRATEGY.replace("def next(self):\n", hang, 1), "data": "sample:GOOG", "name": mark}

    with connected_http(narrow, backend, "auto") as peer:

        async def body() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(peer.client.call_tool, "backtest_run", asked)
                await anyio.to_thread.run_sync(wait_until, lambda: processes_with(mark), "the check runs")
                group.cancel_scope.cancel()

        peer.portal.call(body)
        wait_until(lambda: not processes_with(mark), "the program is gone")
        listed = peer.call("runs_list", strategy=mark)  # in its turn, which comes when the other call has ended
        assert answer(listed)["matching"] == 0


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_disconnects_leaves_no_process(served: Served, backend: str, mode: str) -> None:
    """Its connection breaks: it neither cancels nor says goodbye."""
    mark = make_mark()

    async def body() -> None:
        async with httpx2.AsyncClient(timeout=60) as http:
            headers = {"accept": "application/json, text/event-stream"}
            params: Json = {"name": "run_python", "arguments": {"code": marked_program(mark)}}
            if mode == "legacy":
                begin = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                }
                made = await http.post(served.url, json=_message("initialize", begin), headers=headers)
                headers["mcp-session-id"] = made.headers["mcp-session-id"]
                headers["mcp-protocol-version"] = "2025-11-25"
            else:
                version = "2026-07-28"
                headers |= {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "run_python"}
                params["_meta"] = {
                    "io.modelcontextprotocol/protocolVersion": version,
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    answered = await http.post(served.url, json=_message("tools/call", params), headers=headers)
                    raise AssertionError(f"it was answered: {answered.text}")

                group.start_soon(call)
                await anyio.to_thread.run_sync(wait_until, lambda: processes_with(mark), "the program runs")
                group.cancel_scope.cancel()

    anyio.run(body)
    wait_until(lambda: not processes_with(mark), "the program is gone")


def _message(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_client_that_is_killed_takes_its_server_with_it(tmp_path: Path, home: Path, backend: str) -> None:
    mark, script = make_mark(), tmp_path / "client.py"
    script.write_text(
        "import sys, anyio, os\nfrom tests.mcp.serving import connected, stdio\nfrom pathlib import Path\n"
        f"with connected(stdio(Path({str(home)!r}), {lean(backend)!r}), {backend!r}) as peer:\n"
        f"    peer.run({marked_program(mark)!r})\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])}
    client = subprocess.Popen([sys.executable, str(script)], env=environ, cwd=ROOT)
    try:
        wait_until(lambda: processes_with(mark), "the program runs")
        below = descendants(client.pid)
    finally:
        client.kill()
        client.wait()
    wait_until(lambda: not processes_with(mark) and not alive(below), "the server and the program are gone")
