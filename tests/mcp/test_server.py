"""The life of a server: what it says on its streams, how it ends, and what it leaves."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from tests.mcp.serving import (
    BEGIN,
    SECONDS,
    Json,
    alive,
    answer,
    argv,
    connected,
    descendants,
    end,
    environment,
    lean,
    make_mark,
    marked_program,
    processes_with,
    refusal,
    stdio,
    wait_until,
)

KILLS = 4  # at random moments; RINGFENCE_TEST_KILLS sets more


class Raw:
    """A server spoken to line by line, so that it can be treated as no client would."""

    def __init__(self, home: Path, backend: str, **env: str) -> None:
        self.process = subprocess.Popen(
            argv("--backend", lean(backend)),
            env=environment(home, **env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, method: str, params: Json, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def begin(self) -> None:
        self.send("initialize", BEGIN, 0)
        assert self.read()["id"] == 0
        self.send("notifications/initialized", {})

    def run(self, code: str, number: int) -> None:
        self.send("tools/call", {"name": "run_python", "arguments": {"code": code}}, number)

    def read(self) -> Json:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def raw(home: Path, backend: str) -> Iterator[Raw]:
    server = Raw(home, backend)
    try:
        yield server
    finally:
        end(server.process)


def test_standard_output_carries_the_protocol_and_nothing_else(raw: Raw) -> None:
    raw.begin()
    raw.run("import os, sys\nprint('to stdout')\nos.write(1, b'raw')\nprint('to stderr', file=sys.stderr)", 1)
    raw.send("nonsense/method", {}, 2)
    raw.send("tools/call", {"name": "backtest_run", "arguments": {"code": "x", "data": "csv:/nowhere"}}, 3)
    seen = {message["id"]: message for message in (raw.read() for _ in range(3))}
    assert seen[1]["result"]["structuredContent"]["stdout"].startswith("to stdout")
    assert "error" in seen[2]
    assert seen[3]["result"]["isError"]
    assert raw.process.stdin is not None and raw.process.stdout is not None
    raw.process.stdin.close()
    assert raw.process.stdout.read() == ""
    assert raw.process.wait(SECONDS) == 0


def test_what_is_no_message_does_not_end_it(raw: Raw) -> None:
    assert raw.process.stdin is not None
    raw.process.stdin.write("this is not json\n\n[1, 2]\n{}\n")
    for large in ("[" * (1 << 20), '{"a":' * 2000, "[" + "[]," * (1 << 20) + "[]]"):
        raw.process.stdin.write(large + "\n")  # short, until it is read
    raw.begin()
    raw.run("result = 1", 1)
    assert raw.read()["result"]["structuredContent"]["result"] == 1


def test_half_a_character_does_not_end_it(raw: Raw) -> None:
    """JSON can spell it and UTF-8 cannot carry it: it is no message."""
    raw.begin()
    raw.send("tools/call", {"name": "artifact_read", "arguments": {"run_id": "\ud800", "name": "\ud800"}}, 1)
    raw.send("tools/call", {"name": "run_python", "arguments": {"code": "result = x", "inputs": {"x": "\ud800"}}}, 2)
    raw.run("result = chr(0xd800)", 3)
    raw.run("raise ValueError(chr(0xd800))", 4)
    seen = {message["id"]: message for message in (raw.read() for _ in range(2))}
    assert {number: message["result"]["structuredContent"]["status"] for number, message in seen.items()} == {
        3: "error",
        4: "error",
    }


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_and_leaves_nothing_while_a_program_runs(raw: Raw, how: str) -> None:
    mark = make_mark()
    raw.begin()
    raw.run(marked_program(mark), 1)
    wait_until(lambda: processes_with(mark), "the program runs")
    below = descendants(raw.process.pid)
    assert raw.process.stdin is not None
    if how == "end of input":
        raw.process.stdin.close()
    else:
        raw.process.send_signal(signal.Signals[how])
    code = raw.process.wait(SECONDS)
    assert code == (0 if how == "end of input" else 128 + signal.Signals[how])
    wait_until(lambda: not alive(below) and not processes_with(mark), "nothing is left")


def test_it_ends_with_its_parent_though_its_input_stays_open(home: Path, backend: str) -> None:
    """The pipe's other end is held by somebody who outlives the parent: us."""
    read, write = os.pipe()
    start = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); time.sleep(600)"
    command = [sys.executable, "-c", start, *argv("--backend", lean(backend))]
    parent = subprocess.Popen(command, env=environment(home), stdin=read, stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": BEGIN}
        os.write(write, json.dumps(message).encode() + b"\n")
        assert json.loads(parent.stdout.readline())["id"] == 0
        family = [(pid, began) for pid, began in descendants(parent.pid) if pid == server] + descendants(server)
        parent.kill()
        wait_until(lambda: not alive(family), "the server and all below it are gone")
    finally:
        end(parent)
        os.close(read)
        os.close(write)


def test_a_server_that_is_killed_leaves_no_process_and_its_files_are_swept(tmp_path: Path, backend: str) -> None:
    server, mark = Raw(tmp_path, backend), make_mark()
    try:
        server.begin()
        server.run("open('x.txt', 'w').write('x')", 1)
        server.read()
        server.run(marked_program(mark), 2)
        wait_until(lambda: processes_with(mark), "the program runs")
        below = descendants(server.process.pid)
        assert len(list((tmp_path / "mcp").iterdir())) == 1
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not alive(below) and not processes_with(mark), "nothing is left")
    finally:
        end(server.process)
    with connected(stdio(tmp_path, lean(backend)), backend) as peer:
        peer.run("open('y.txt', 'w').write('y')")
        assert len(list((tmp_path / "mcp").iterdir())) == 1


def test_kills_at_random_moments_leave_nothing(tmp_path: Path, backend: str) -> None:
    chance, marks, below = random.Random(5), [], []
    servers = [Raw(tmp_path, backend) for _ in range(int(os.environ.get("RINGFENCE_TEST_KILLS", KILLS)))]
    try:
        for server in servers:
            marks.append(make_mark())
            server.send("initialize", BEGIN, 0)
            server.send("notifications/initialized", {})
            server.run(marked_program(marks[-1]), 1)
        for server in servers:
            time.sleep(chance.uniform(0, 1.2))
            below += descendants(server.process.pid)
            server.process.kill()
            server.process.wait()
    finally:
        for server in servers:
            end(server.process)
    wait_until(lambda: not alive(below), "no process is left")
    assert [mark for mark in marks if processes_with(mark)] == []
    with connected(stdio(tmp_path, lean(backend)), backend) as peer:
        assert peer.run("result = 1")["result"] == 1


@pytest.fixture
def moody(tmp_path: Path) -> tuple[Path, StdioServerParameters]:
    """The file that a backend of our own obeys, and the server that uses it."""
    info = tmp_path / "plugins" / "moody-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moody\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ringfence.sandbox]\nmoody = tests.mcp.moody:create\n")
    down = tmp_path / "down"
    down.touch()
    parameters = stdio(tmp_path, "moody", MOODY_DOWN=str(down))
    assert parameters.env is not None
    parameters.env["PYTHONPATH"] += os.pathsep + str(tmp_path / "plugins")
    return down, parameters


def test_a_backend_that_hands_on_half_a_character_does_not_end_it(moody: tuple[Path, StdioServerParameters]) -> None:
    down, parameters = moody
    down.write_text("odd")
    with connected(parameters, "moody") as peer:
        for _ in range(2):
            found = peer.run("1")
            assert (found["stdout"], found["result"]) == ("?", {"x": "?"})


def test_waiting_for_a_sandbox_is_not_called_running(moody: tuple[Path, StdioServerParameters]) -> None:
    down, parameters = moody
    down.write_text("slow")
    told: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")
        down.unlink(missing_ok=True)  # it opens now

    with connected(parameters, "moody") as peer:
        asked = {"code": "result = 1", "timeout": 1}
        found = peer.portal.call(lambda: peer.client.call_tool("run_python", asked, progress_callback=listen))
        assert answer(found)["result"] == 1
    assert re.fullmatch(r"waiting for a sandbox, \d+ s", told[0])


def test_a_sandbox_that_cannot_be_opened_is_told_and_tried_again(moody: tuple[Path, StdioServerParameters]) -> None:
    down, parameters = moody
    with connected(parameters, "moody") as peer:
        calls: Json = {
            "run_python": {"code": "1"},
            "docker_run_python": {"script": "1"},
            "session_create": {},
            "check_code": {"code": "x = 1"},
        }
        for tool, arguments in calls.items():
            said = refusal(peer.call(tool, **arguments))
            assert "moody" in said and "the engine does not answer: start it" in said
        assert answer(peer.call("runs_list")) is not None  # what needs no sandbox works
        down.write_text("broken")  # it opens now, and then runs nothing as long as it lives
        assert "the engine went away" in refusal(peer.call("run_python", code="1"))
        down.unlink()
        assert peer.run("result = 1")["result"] == 1
        assert answer(peer.call("session_create"))["backend"] == "moody"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--port", "1"], 2, "add it"),
        (["--http", "--port", "99999"], 2, "65535"),  # an address is taken modulo 65536
        (["--http", "--port", "-1"], 2, "invalid value for '--port'"),
        (["--backend", "dokker"], 78, "'dokker' is unknown: use one of docker, native"),
        (["--http", "--port", "0", "--backend", "dokker"], 78, "'dokker' is unknown: use one of docker, native"),
    ],
)
def test_what_can_never_work_is_told_at_the_start(words: list[str], code: int, told: str, home: Path) -> None:
    done = subprocess.run(
        argv(*words), env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
