"""The real `ringfence mcp` in a process of its own, and the official client to speak to it, from ordinary test code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.conftest import ROOT

BACKENDS = ["native"]  # every test that runs programs runs on each of these
# The same without libraries that take seconds to import, for tests that start a server of their own.
LEAN = {"native": "native:profile=plain,park=1"}
MODES = ["auto", "legacy"]  # of the protocol: the one that is negotiated now, and the handshake of before
SECONDS = 60.0  # for anything to happen at all

Json = Any
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


def environment(home: Path, **more: str) -> dict[str, str]:
    ours = ("RINGFENCE_MCP", "RINGFENCE_MODEL")  # what a test says of these holds
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "RINGFENCE_HOME": str(home), **more}


def argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "ringfence", "mcp", *words]


def lean(backend: str) -> str:
    return LEAN.get(backend, backend)


@dataclass(frozen=True, slots=True)
class Peer:
    """A connected client, to be called from the test's thread."""

    client: Client
    portal: BlockingPortal
    backend: str

    def call(self, tool: str, **arguments: Json) -> CallToolResult:
        return self.portal.call(lambda: self.client.call_tool(tool, arguments))

    def ask(self, method: Callable[..., Any], *words: object) -> Any:
        return self.portal.call(lambda: method(*words))

    def run(self, code: str, **arguments: Json) -> Json:
        """The structured answer of `run_python`."""
        return answer(self.call("run_python", code=code, **arguments))


def answer(result: CallToolResult) -> Json:
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    return result.structured_content


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    return text(result)


def text(result: CallToolResult) -> str:
    [block] = [block for block in result.content if isinstance(block, TextContent)]
    return block.text


@contextmanager
def connected(server: object, backend: str, mode: str = "auto") -> Iterator[Peer]:
    with start_blocking_portal() as portal:
        client = Client(server, mode=mode)  # type: ignore[arg-type]  # one of those that it takes
        with portal.wrap_async_context_manager(client):
            yield Peer(client, portal, backend)


def stdio(home: Path, backend: str, **env: str) -> StdioServerParameters:
    command, *words = argv("--backend", backend)
    return StdioServerParameters(command=command, args=words, env=environment(home, **env))


@dataclass(slots=True)
class Served:
    """A server over HTTP: its process, its address, and what it said."""

    process: subprocess.Popen[str]
    url: str
    said: list[str] = field(default_factory=list)


@contextmanager
def http_server(home: Path, backend: str, *words: str, **env: str) -> Iterator[Served]:
    process = subprocess.Popen(
        argv("--http", "--port", "0", "--backend", backend, *words),
        env=environment(home, **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            found = re.search(r"listening on (\S+)", line)
            if found:
                yield Served(process, found[1].replace("0.0.0.0", "127.0.0.1"), said)
                break
        else:
            raise AssertionError(f"the server did not start: {''.join(said)}")
    finally:
        end(process)


def end(process: subprocess.Popen[Any]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def connected_http(served: Served, backend: str, mode: str, headers: Mapping[str, str] | None = None) -> Iterator[Peer]:
    with start_blocking_portal() as portal:
        http = httpx2.AsyncClient(headers=dict(headers or {}), timeout=SECONDS)
        with portal.wrap_async_context_manager(http):
            client = Client(streamable_http_client(served.url, http_client=http), mode=mode)
            with portal.wrap_async_context_manager(client):
                yield Peer(client, portal, backend)


# Looking at the machine from outside


def marked_program(mark: str, and_then: str = "time.sleep(600)") -> str:
    """A program with a child of its own whose command line holds `mark`, which the host can see."""
    return (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n"
        f"print('started', flush=True)\n{and_then}\n"
    )


def make_mark() -> str:
    return f"mark-{uuid.uuid4().hex}"


def processes_with(mark: str) -> list[int]:
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has just ended
            if mark.encode() in words:
                found.append(int(place.name))
    return found


def descendants(pid: int) -> list[tuple[int, str]]:
    """Every process below `pid`, each with the moment at which it began: an id alone may come again."""
    below: dict[int, list[int]] = {}
    began: dict[int, str] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            below.setdefault(int(fields[1]), []).append(int(place.name))
            began[int(place.name)] = fields[19]
    found, waiting = [], [pid]
    while waiting:
        children = below.get(waiting.pop(), [])
        found += [(child, began[child]) for child in children]
        waiting += children
    return found


def alive(processes: Sequence[tuple[int, str]]) -> list[int]:
    living = []
    for pid, began in processes:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[19] == began and fields[0] not in "ZX":
            living.append(pid)
    return living


def wait_until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"it did not come to pass: {what}"
        time.sleep(0.02)
