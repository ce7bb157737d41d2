"""The tools on the docker backend: what a chat agent may count on, over both wires, and that no container is left."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ringfence.sandbox.docker.owner import LABEL

from tests.mcp.serving import (
    BEGIN,
    Json,
    Peer,
    answer,
    connected,
    connected_http,
    end,
    http_server,
    make_mark,
    marked_program,
    processes_with,
    refusal,
    stdio,
    text,
    wait_until,
)
from tests.mcp.test_server import KILLS, Raw
from tests.sandbox.engines import Left

SPEC = "docker:profile=plain,park=1"


@pytest.fixture(scope="module", params=["stdio", "http"])
def docker(request: pytest.FixtureRequest, docker_engine: str, home: Path) -> Iterator[Peer]:
    if request.param == "stdio":
        with connected(stdio(home, SPEC, DOCKER_HOST=docker_engine), "docker") as peer:
            yield peer
    else:
        with (
            http_server(home, SPEC, DOCKER_HOST=docker_engine) as served,
            connected_http(served, "docker", "auto") as peer,
        ):
            yield peer


def containers() -> set[str]:
    asked = ["docker", "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}"]
    return set(subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.split())


def container_of(pid: int) -> str:
    """The container that a process is in: its control group is named after it."""
    found = re.search(r"[0-9a-f]{64}", Path(f"/proc/{pid}/cgroup").read_text())
    assert found is not None
    return found[0]


def test_a_script_runs_in_a_container_and_the_answer_says_so(docker: Peer) -> None:
    script = "import os\nprint('hello')\nresult = [os.getuid() != 0, os.getcwd()]"
    result = docker.call("docker_run_python", script=script)
    said = answer(result)
    assert (said["backend"], said["status"], said["result"], said["stdout"]) == (
        "docker", "ok", [True, "/job"], "hello\n",
    )  # fmt: skip
    assert "docker" in text(result)


def test_a_program_that_raises_names_its_line(docker: Peer) -> None:
    said = docker.run("x = 1\ny = x / 0")
    assert (said["status"], said["error"]["type"], said["error"]["line"]) == ("error", "ZeroDivisionError", 2)


def test_a_timeout_keeps_what_was_printed(docker: Peer) -> None:
    said = answer(docker.call("docker_run_python", script="print('so far', flush=True)\nwhile True: pass", timeout=1))
    assert (said["status"], said["stdout"]) == ("timeout", "so far\n")


def test_memory_is_bounded(docker: Peer) -> None:
    code = "x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])"
    assert docker.run(code, memory_mb=64)["status"] == "memory_limit"


def test_neither_network_nor_files_of_the_host(docker: Peer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    code = (
        "import socket\ntried = []\n"
        "try: socket.create_connection(('127.0.0.1', 80), 2)\nexcept OSError as e: tried.append(type(e).__name__)\n"
        f"try: open({str(secret)!r})\nexcept OSError as e: tried.append(type(e).__name__)\nresult = tried"
    )
    assert docker.run(code)["result"] == ["PermissionError", "FileNotFoundError"]


def test_ten_megabytes_of_output_are_cut(docker: Peer) -> None:
    said = docker.run("print('x' * 10_000_000)", output_bytes=1000)
    assert (len(said["stdout"]), said["truncated"]["stdout"]) == (1000, True)
    assert said["usage"]["output_bytes"] == 10_000_001


def test_ten_calls_at_once(docker: Peer) -> None:
    async def body() -> list[Json]:
        found: list[Json] = []

        async def one(n: int) -> None:
            result = await docker.client.call_tool("run_python", {"code": "result = n * n", "inputs": {"n": n}})
            found.append((n, answer(result)["result"]))

        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(one, n)
        return found

    assert sorted(docker.portal.call(body)) == [(n, n * n) for n in range(10)]


def test_a_session_keeps_its_variables(docker: Peer) -> None:
    made = answer(docker.call("session_create"))["session_id"]
    assert answer(docker.call("session_run", session_id=made, code="x = 20"))["status"] == "ok"
    assert answer(docker.call("session_run", session_id=made, code="x + 22"))["result"] == 42
    answer(docker.call("session_close", session_id=made))


def test_an_accelerator_that_is_not_there_is_told(docker: Peer) -> None:
    said = answer(docker.call("docker_run_python", script="result = 1", engine="npu"))
    assert (said["status"], said["device"]["requested"], said["device"]["used"]) == ("ok", "npu", "cpu")
    assert "RINGFENCE_NPU_IMAGE" in said["device"]["notice"]
    assert "npu" in said["device"]["found"]


def test_a_call_that_is_cancelled_leaves_no_container_and_no_process(docker: Peer) -> None:
    mark = make_mark()
    ran_in: list[str] = []

    async def body() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(docker.client.call_tool, "run_python", {"code": marked_program(mark)})
            await anyio.to_thread.run_sync(wait_until, lambda: processes_with(mark), "the program runs")
            ran_in.append(container_of(processes_with(mark)[0]))
            group.cancel_scope.cancel()

    docker.portal.call(body)
    wait_until(lambda: not processes_with(mark), "the program is gone")
    wait_until(lambda: ran_in[0] not in containers(), "its container is gone")


def test_an_engine_that_is_down_is_told_and_the_server_stays(docker_engine: str, home: Path) -> None:
    with connected(stdio(home, SPEC, DOCKER_HOST="unix:///nowhere/docker.sock"), "docker") as peer:
        for _ in range(2):
            said = refusal(peer.call("docker_run_python", script="result = 1"))
            assert "the container engine did not answer" in said
            assert "start it" in said


def test_a_server_that_ended_has_left_no_container(docker_engine: str, home: Path) -> None:
    mark = make_mark()
    with connected(stdio(home, SPEC, DOCKER_HOST=docker_engine), "docker") as peer:
        made = answer(peer.call("session_create"))["session_id"]
        cell = marked_program(mark, and_then="")
        assert answer(peer.call("session_run", session_id=made, code=cell))["status"] == "ok"
        ran_in = container_of(processes_with(mark)[0])
    wait_until(lambda: not processes_with(mark) and ran_in not in containers(), "its container is gone")


def test_kills_at_random_moments_leave_nothing_after_a_restart(docker_engine: str, tmp_path: Path) -> None:
    """From the first import on, while containers are made, run and are removed."""
    chance, marks = random.Random(7), []
    home, runtime = tmp_path / "home", tmp_path / "run"
    runtime.mkdir(mode=0o700)
    places = {"DOCKER_HOST": docker_engine, "RINGFENCE_RUNTIME_DIR": str(runtime)}
    before = Left.now(runtime, docker_engine)
    for _ in range(int(os.environ.get("RINGFENCE_TEST_KILLS", KILLS))):
        marks.append(make_mark())
        server = Raw(home, SPEC, **places)
        try:
            server.send("initialize", BEGIN, 0)
            server.send("notifications/initialized", {})
            for number, and_then in enumerate(("time.sleep(600)", "open('left', 'w')", "time.sleep(0.3)"), 1):
                server.run(marked_program(marks[-1], and_then), number)
            time.sleep(chance.uniform(0, 4))
            server.process.kill()
        finally:
            end(server.process)
    with connected(stdio(home, SPEC, **places), "docker") as peer:
        assert peer.run("result = 1")["result"] == 1
    assert Left.now(runtime, docker_engine) == before
    assert [mark for mark in marks if processes_with(mark)] == []
    assert list(home.glob("mcp/*")) == []
