"""A docker session between its cells: stopped, looked after from inside, and ended when it does not stay stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ringfence.base.errors import SandboxError
from ringfence.sandbox import Session
from ringfence.sandbox.docker import create, rest
from ringfence.sandbox.docker.fence import DockerSandbox
from ringfence.sandbox.docker.inside import Inside
from ringfence.sandbox.evidence import Counters

from tests.conftest import require
from tests.sandbox.busy import children, comm, state
from tests.sandbox.engines import Left, connected, own_runtime_of_module

Threads = dict[tuple[str, str], str]
SECONDS = 60.0
BUSY = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"
runtime = pytest.fixture(scope="module")(own_runtime_of_module)


@pytest.fixture(scope="module")
def sandbox(docker_engine: str, runtime: Path) -> Iterator[DockerSandbox]:
    before = Left.now(runtime)
    with create({"profile": "plain", "park": "0"}) as sandbox:
        yield sandbox
    assert Left.now(runtime) == before


@pytest.fixture
def session(sandbox: DockerSandbox) -> Iterator[Session]:
    with sandbox.open_session() as session:
        yield session


def programs(runtime: Path) -> list[int]:
    """The processes of the one session, as the host numbers them, without the keeper."""
    with connected() as client:
        rows = client.api.containers(filters={"label": "ringfence.owner"})
        ours = [row["Id"] for row in rows if row["Labels"]["ringfence.lock"].startswith(f"{runtime}/")]
        keepers = [client.api.inspect_container(container)["State"]["Pid"] for container in ours]
    return [pid for keeper in keepers for pid in children(keeper)]


def states(pid: int) -> set[str]:
    """Of all its threads; none when it has ended."""
    try:
        tasks = [Path(f"/proc/{pid}/task/{tid}/stat").read_text() for tid in os.listdir(f"/proc/{pid}/task")]
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {text.rpartition(")")[2].split()[0] for text in tasks}


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_what_is_woken_is_stopped_again(session: Session, runtime: Path) -> None:
    prints = "import os, threading, time\ndef say():\n    while True: os.write(1, b'x'); time.sleep(0.001)\n"
    session.run(f"x = 1\n{prints}threading.Thread(target=say, daemon=True).start()")
    (program,) = programs(runtime)
    assert states(program) == {"T"}
    os.kill(program, signal.SIGCONT)  # now nothing of ours runs that would stop it, but the keeper
    eventually(lambda: states(program) == {"T"}, f"{comm(program)} runs on between cells: {states(program)}")
    assert session.alive
    assert session.run("x + 1").result == 2


def test_one_that_runs_between_cells_again_and_again_is_ended_and_says_so(session: Session, runtime: Path) -> None:
    session.run(BUSY)
    (program,) = programs(runtime)
    deadline = time.monotonic() + SECONDS
    while states(program) and time.monotonic() < deadline:
        os.kill(program, signal.SIGCONT)
        time.sleep(0.05)
    eventually(lambda: not session.alive, "it lives on")
    with pytest.raises(SandboxError, match=r"ended \(its program went on running between two cells\): open another"):
        session.run("1")


def test_one_that_dies_between_cells_says_so(session: Session, runtime: Path) -> None:
    session.run("x = 1")
    (program,) = programs(runtime)
    os.kill(program, signal.SIGKILL)
    eventually(lambda: not session.alive, "it lives on")
    with pytest.raises(SandboxError, match=r"ended \(its program ended between two cells\): open another"):
        session.run("1")


class Counted(Inside):
    """A control group that has counted this much."""

    def __init__(self, counted: Counters) -> None:
        self._counted = counted

    def reset(self) -> None:
        pass

    def counters(self) -> Counters:
        return self._counted


def test_what_ends_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, awake = {("7", "7"): "T", ("7", "8"): "t"}, {("7", "7"): "T", ("7", "8"): "R"}
    rows: list[tuple[str, Counters, bool, Threads, list[str | None]]] = [
        ("nothing", Counters(), False, stopped, [None] * 9),
        ("memory", Counters(oom_kills=1), False, stopped, ["memory_limit"]),
        ("processor time", Counters(cpu_seconds=9.0), False, stopped, ["awake"]),
        ("disk", Counters(), True, stopped, ["disk_limit"]),
        ("a thread that is woken again and again", Counters(), False, awake, [None, None, None, "awake"]),
    ]
    monkeypatch.setattr(rest, "stop_all", lambda: True)
    wrong = []
    for name, counted, over_disk, threads, wanted in rows:
        monkeypatch.setattr(rest, "living", partial(dict, threads))
        one = rest.Rest(Counted(counted), partial(bool, over_disk))
        found = [one.breach() for _ in wanted]
        wrong += [(name, found)] if found != wanted else []
    assert wrong == []


def test_a_thread_that_goes_on_without_its_first_is_seen() -> None:
    """What the kernel says of such a process as a whole is that it is dead."""
    require("linux")
    code = "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    with subprocess.Popen([sys.executable, "-c", f"{code}ctypes.CDLL(None).pthread_exit(None)"]) as process:
        try:
            eventually(lambda: state(process.pid) == "Z", "its first thread lives on")
            found = {key: value for key, value in rest.living().items() if key[0] == str(process.pid)}
            assert list(found.values()) == ["S"]
            assert not rest.is_stopped(found)
        finally:
            process.kill()


def test_stopping_takes_two_looks_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    calm, other, dead = {("7", "7"): "T", ("9", "9"): "T"}, {("7", "7"): "T"}, {("7", "7"): "T", ("9", "9"): "R"}
    rows: list[tuple[str, list[Threads], bool]] = [
        ("at once", [calm, calm], True),
        ("one ended between the looks, and woke another", [calm, other, other], True),
        ("woken between the looks", [calm, dead, calm, calm], True),
        ("never", [dead] * 60, False),
        ("never twice the same", [calm, other] * 30, False),
    ]
    monkeypatch.setattr(rest, "signal_all", lambda number: None)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    wrong = []
    for name, looks, wanted in rows:
        left = list(looks)
        monkeypatch.setattr(rest, "living", partial(left.pop, 0))
        stopped = rest.stop_all()
        wrong += [(name, stopped, left)] if stopped is not wanted or left else []
    assert wrong == []
